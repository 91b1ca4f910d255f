"""Wrong arguments and inputs: refused in our words when a layer is built or first called, with values or without."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.layers import (
    ALiBi,
    Attention,
    Convolution,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LearnedPositions,
    MixerDecoderBlock,
    MixerEncoderBlock,
    Recurrence,
    RelativePositionBias,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
)

B, T, D, N = 2, 5, 8, 2
X = normal(B, T, D)
VECTORS = {
    "attention": lambda: Attention(N),
    "encoder block": lambda: EncoderBlock(N, 16),
    "decoder block": lambda: DecoderBlock(N, 16),
    "feed-forward": lambda: FeedForward(16),
    "learned positions": lambda: LearnedPositions(9),
    "sinusoidal positions": lambda: SinusoidalPositions(),
    "recurrence": lambda: Recurrence("gru", 4),
    "convolution": lambda: Convolution(4),
    "mixer encoder block": lambda: MixerEncoderBlock("gru", 4),
    "mixer decoder block": lambda: MixerDecoderBlock("gru", 4),
}
INPUTS = {
    "two axes": (X[0], r"must be \(batch, length, width\): received .*Add the axis of the length"),
    "one axis": (X[0, 0], r"must be \(batch, length, width\): received \(8\). Add the axis of the batch|\(\?\)"),
    "four axes": (X[None], "TimeDistributed"),
    "integers": (
        np.ones((B, T, D), "int32"),
        "must be vectors of floating-point numbers: received int32.*TokenEmbedding",
    ),
    "Booleans": (np.ones((B, T, D), bool), "must be vectors of floating-point numbers: received bool"),
}


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("case", INPUTS)
@pytest.mark.parametrize("name", VECTORS)
def test_inputs_that_are_no_vectors(name, case, is_symbolic):
    x, message = INPUTS[case]
    if is_symbolic:
        x = keras.Input(x.shape[1:], dtype=x.dtype)
    with pytest.raises(ValueError, match=message):
        VECTORS[name]()(x)


@pytest.mark.parametrize("name", ["attention", "encoder block", "decoder block", "feed-forward"])
def test_a_width_that_is_not_known(name):
    with pytest.raises(ValueError, match=r"the width of hidden_states must be known: received \(\?, 5, \?\)"):
        VECTORS[name]()(keras.Input((5, None)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Attention(0), "num_heads must be a positive integer: received {'num_heads': 0}"),
        (lambda: Attention(2.0), "num_heads must be a positive integer"),
        (lambda: Attention(2, head_dim=0), "head_dim must be a positive integer"),
        (lambda: Attention(2, num_kv_heads=0), "num_kv_heads must be a positive integer"),
        (lambda: Attention(2, linear_from=-1), "linear_from must be a positive integer"),
        (
            lambda: Attention(2, dropout=1.0),
            "dropout must be a number from 0 to less than 1: received {'dropout': 1.0}",
        ),
        (lambda: EncoderBlock("2", 8), "num_heads must be a positive integer"),
        (lambda: EncoderBlock(2, 0), "intermediate_dim must be a positive integer"),
        (lambda: EncoderBlock(2, 8, dropout=-0.1), "dropout must be a number from 0"),
        (lambda: EncoderBlock(2, 8, attention_dropout="0.1"), "attention_dropout must be a number from 0"),
        (lambda: DecoderBlock(2, 8, activation_dropout=2), "activation_dropout must be a number from 0"),
        (
            lambda: DecoderBlock(2, 8, norm="batch"),
            r"norm must be one of \('layer', 'rms', 'offset_rms'\): received 'batch'",
        ),
        (lambda: EncoderBlock(2, 8, norm_order="both"), r"norm_order must be one of \('post', 'pre', .*\)"),
        (lambda: FeedForward(True), "intermediate_dim must be a positive integer"),
        (lambda: TokenEmbedding(0, 4), "vocabulary_size must be a positive integer"),
        (lambda: TokenEmbedding(4, -4), "hidden_dim must be a positive integer"),
        (lambda: LearnedPositions(0), "max_length must be a positive integer"),
        (lambda: RotaryPositions(0), "head_dim must be a positive integer"),
        (lambda: RelativePositionBias(0), "num_heads must be a positive integer"),
        (lambda: ALiBi(0), "num_heads must be a positive integer"),
        (lambda: Recurrence("gru", 0), "units must be a positive integer"),
        (lambda: Convolution(0), "units must be a positive integer"),
        (lambda: MixerEncoderBlock("gru", 4, dropout=1), "dropout must be a number from 0"),
        (lambda: MixerDecoderBlock("gru", 4, attention_dropout=1), "attention_dropout must be a number from 0"),
        (lambda: EncoderBlock(2, 8, return_cache=True), "an EncoderBlock has no cache: received return_cache=True"),
        (lambda: Attention(2, scale=float("nan")), "scale must be a positive number"),
        (lambda: Attention(2, scale="large"), "scale must be a positive number"),
        (lambda: EncoderBlock(2, 8, epsilon=-1), "epsilon must be a positive number: received {'epsilon': -1}"),
        (lambda: FeedForward(8, initializer_range=-1)(X), "initializer_range must be a standard deviation"),
        (lambda: FeedForward(8, initializer_range="x")(X), "initializer_range must be a standard deviation"),
    ],
)
def test_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


ROTARY = {length: RotaryPositions(D // N)(np.arange(length)[None]) for length in (T, T - 1)}
CALLS = {
    "heads": (3, {}, "the width of the input must be divisible by num_heads=3: received 8"),
    "context of other rows": (N, {"context": X[:1]}, "must have the same batch size: received 2 and 1"),
    "context of two axes": (N, {"context": X[0]}, r"context must be \(batch, length, width\)"),
    "integer context": (N, {"context": np.ones((B, 3, 4), int)}, "context must be vectors of floating-point numbers"),
    "padding of other length": (N, {"padding_mask": np.ones((B, 4))}, r"padding_mask must be \(batch, keys\)"),
    "mask of other length": (N, {"attention_mask": np.ones((B, T, 4), bool)}, r"received \(.*, 5, 4\)"),
    "documents of other length": (N, {"documents": np.ones((B, 4), int)}, r"documents must be \(batch, length\)"),
    "bias of other heads": (N, {"position_bias": normal(1, 3, T, T)}, r"position_bias must be \(1 or batch, heads"),
    "bias of Booleans": (N, {"position_bias": np.ones((1, N, T, T), bool)}, "received bool. A mask is an attention_"),
    "rotary of other positions": (N, {"rotary": ROTARY[T - 1]}, r"rotary must be a pair \(cosines, sines\)"),
    "rotary of other heads": (2 * N, {"rotary": ROTARY[T]}, r"RotaryPositions\(head_dim=2\) gives them"),
    "cosines alone": (N, {"rotary": ROTARY[T][0]}, r"rotary must be a pair \(cosines, sines\)"),
    "rotary and context": (N, {"context": X, "rotary": ROTARY[T]}, "rotary positions need self-attention"),
}


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_calls_of_attention(name, is_symbolic):
    heads, inputs, message = CALLS[name]
    inputs = {"hidden_states": X} | inputs
    if is_symbolic:
        inputs = keras.tree.map_structure(to_symbolic, inputs)
    with pytest.raises(ValueError, match=message):
        Attention(heads)(**inputs)


@pytest.mark.parametrize("name", VECTORS)
def test_another_width_than_it_was_built_for(name):
    layer = VECTORS[name]()
    layer(X)
    if name == "sinusoidal positions":  # has no weights
        assert layer(X[..., :6]).shape == (B, T, 6)
        return
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 8"):
        layer(X[..., :6])


@pytest.mark.parametrize("name", VECTORS)
def test_no_tokens(name):
    """A reshape would make one row of two."""
    with pytest.raises(ValueError, match=r"must have one token or more: received \(2, 0, 8\)"):
        VECTORS[name]()(X[:, :0])


CACHE = {"key": np.zeros((B, N, 7, D // N), "float32"), "value": np.zeros((B, N, 7, D // N), "float32")}
CROSS = CACHE | {f"cross_{name}": part[:, :, :3] for name, part in CACHE.items()}
STATES = {"key": np.zeros((B, 1, 7, 4), "float32")}
PLACES = np.tile(np.arange(T), (B, 1))
OF_THE_CACHE = {
    "no places": (lambda: DecoderBlock(N, 16), {"cache": CACHE}, "a cache needs cache_positions"),
    "no cache": (lambda: DecoderBlock(N, 16), {"cache_positions": PLACES}, "received them without a cache"),
    "beyond": (lambda: Attention(N), {"cache": CACHE, "cache_positions": PLACES + 3}, "from 0 to 6: received 7. Make"),
    "negative": (lambda: Attention(N), {"cache": CACHE, "cache_positions": PLACES - 1}, "from 0 to 6: received -1"),
    "one axis": (
        lambda: Attention(N),
        {"cache": CACHE, "cache_positions": PLACES[0]},
        r"here: received \(5\)",
    ),
    "one row": (lambda: Attention(N), {"cache": CACHE, "cache_positions": PLACES[:1]}, r"here: received \(1, 5\)"),
    "no value": (lambda: Attention(N), {"cache": {"key": CACHE["key"]}}, r"received key \(2, 2, 7, 4\)\."),
    "a tuple": (lambda: Attention(N), {"cache": (1, 2)}, "received tuple"),
    "heads": (lambda: Attention(4), {"cache": CACHE, "cache_positions": PLACES}, r"key \(2, 4, \?, 2\).*received key"),
    "no cross": (lambda: DecoderBlock(N, 16, True), {"cache": CACHE, "cache_positions": PLACES}, "cross_key"),
    "units": (lambda: Recurrence("gru", 6), {"cache": STATES, "cache_positions": PLACES}, r"key \(2, 1, \?, 6\)"),
    "channels": (lambda: Convolution(4), {"cache": STATES, "cache_positions": PLACES}, r"key \(2, 1, \?, 8\)"),
    "mixer": (lambda: MixerDecoderBlock("gru", 4), {"cache": STATES, "cache_positions": PLACES + 3}, "received 7"),
    "mixer, no places": (lambda: MixerDecoderBlock("gru", 4), {"cache": STATES}, "a cache needs cache_positions"),
}


@pytest.mark.parametrize("name", OF_THE_CACHE)
def test_caches(name):
    """A place that is not in a cache would be written to another head or row of it."""
    make, inputs, message = OF_THE_CACHE[name]
    with pytest.raises(ValueError, match=message):
        make()(X, **inputs)


TOKENS = {
    "causal": np.tril(np.ones((B, T, T), bool)),
    "two axes": np.ones((B, T), bool),
    "added": np.where(np.ones((B, 1, T)), 0.0, -1e9) - 1e9,
}


@pytest.mark.parametrize("mask", TOKENS)
@pytest.mark.parametrize("name", ["recurrence", "convolution", "mixer encoder block"])
def test_masks_of_tokens(name, mask):
    with pytest.raises(ValueError, match=r"attention_mask (of tokens without keys )?must be"):
        VECTORS[name]()(X, attention_mask=TOKENS[mask])


@pytest.mark.parametrize("linear_from", [None, 1])
def test_a_bias_and_a_mask_of_all_queries(linear_from):
    attention, bias, mask = Attention(N, linear_from=linear_from), normal(1, N, 1, T), np.ones((1, N, 1, T), bool)
    mask[..., 3:] = False
    expected = attention(X, position_bias=np.repeat(bias, T, 2), attention_mask=np.repeat(mask, T, 2))
    np.testing.assert_allclose(
        to_numpy(attention(X, position_bias=bias, attention_mask=mask)), to_numpy(expected), atol=1e-6
    )


@pytest.mark.parametrize("layer", [LearnedPositions(9), SinusoidalPositions()], ids=["learned", "sinusoidal"])
def test_positions_of_other_tokens(layer):
    np.testing.assert_array_equal(to_numpy(layer(X, positions=PLACES.tolist())), to_numpy(layer(X)))
    for positions in (PLACES[:, :3], np.tile(PLACES[:1], (3, 1)), PLACES[0]):
        with pytest.raises(ValueError, match=r"positions must be \(1 or batch, length\), \(2, 5\) here: received"):
            layer(X, positions=positions)


def test_states_of_another_width_for_the_projection():
    with pytest.raises(ValueError, match=r"reverse=True takes hidden states \(..., 4\): received \(2, 5, 8\)"):
        TokenEmbedding(9, 4)(X, reverse=True)


@pytest.mark.parametrize("name", VECTORS)
def test_a_policy_that_is_set_later(name):
    layer = VECTORS[name]()
    layer(X)
    layer.dtype_policy = "mixed_bfloat16"
    output = layer(X)
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"


@pytest.mark.integration
def test_a_cache_that_fits():
    block = DecoderBlock(N, 16, cross_attention=True)
    assert block(X, X[:, :3], return_cache=True)[0].shape == X.shape
    assert block(X, cache=CROSS, cache_positions=PLACES + 2)[0].shape == X.shape
    assert Recurrence("gru", 4)(X, cache=STATES, cache_positions=PLACES)[0].shape == X.shape


def test_lists_and_other_things():
    attention, bias = Attention(N), normal(1, N, T, T)
    lists = {"documents": [[1, 1, 2, 2, 2]] * B, "position_bias": bias.tolist(), "padding_mask": [[1] * T] * B}
    arrays = {name: np.asarray(value, "int32" if name == "documents" else "float32") for name, value in lists.items()}
    np.testing.assert_array_equal(to_numpy(attention(X, **lists)), to_numpy(attention(X, **arrays)))
    with pytest.raises(ValueError, match="padding_mask must be Boolean, or 0 and 1: received "):
        attention(X, padding_mask=[["yes"] * T] * B)
    with pytest.raises(ValueError, match=r"expects 1 input\(s\), but it received 2"):
        attention((X, X))


def to_symbolic(array):
    dtype = keras.backend.standardize_dtype(array.dtype)
    mask_dtype = "bool" if dtype == "float64" else dtype  # np.ones, a mask: a float one is refused for that
    return keras.Input(batch_shape=tuple(array.shape), dtype=mask_dtype)


@pytest.mark.parametrize("is_symbolic", [False, True])
def test_a_context_that_is_missing_or_too_much(is_symbolic):
    x = keras.Input((T, D)) if is_symbolic else X
    with pytest.raises(ValueError, match=r"needs a context, the encoder's states: block\(hidden_states, context\)"):
        DecoderBlock(N, 16, cross_attention=True)(x)
    with pytest.raises(ValueError, match="a context was given to a block made with cross_attention=False"):
        DecoderBlock(N, 16)(x, x)
    with pytest.raises(ValueError, match="a block with encoder='state' takes a context"):
        MixerDecoderBlock("gru", 4, encoder="state")(x)


@pytest.mark.parametrize(
    ("layer", "inputs", "message"),
    [
        (TokenEmbedding(9, 4), {"inputs": [[9]]}, "token ids must be from 0 to 8: received 9. Make the embedding with"),
        (TokenEmbedding(9, 4), {"inputs": [[3, -1]]}, "token ids must be from 0 to 8: received -1"),
        (TokenEmbedding(9, 4), {"inputs": [[0.5]]}, "token ids must be integers: received float"),
        (TokenEmbedding(9, 4), {"inputs": [[float("nan")]]}, "token ids must be integers: received float"),
        (
            TokenEmbedding(9, 4, 2),
            {"inputs": [[1]], "segment_ids": [[2]]},
            "segment ids must be from 0 to 1: received 2",
        ),
        (LearnedPositions(9), {"hidden_states": normal(1, 1, 4), "positions": [[9]]}, "positions must be from 0 to 8"),
        (LearnedPositions(4), {"hidden_states": X}, "the sequence has 5 tokens and the position table 4 rows"),
    ],
)
def test_numbers_that_are_in_no_table(layer, inputs, message):
    """TensorFlow on a GPU and JAX would take zeros, NaN or another row."""
    with pytest.raises(ValueError, match=message):
        layer(**{name: np.asarray(value) for name, value in inputs.items()})


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [
        (LearnedPositions(9), {"positions": [[0, 1, 2, 3, 4]]}),
        (SinusoidalPositions(), {"positions": [[0, 1, 2, 3, 4]]}),
        (Attention(2), {"documents": [[1] * 5]}),
        (DecoderBlock(2, 8), {"cache_positions": [[0, 1, 2, 3, 4]] * B}),
    ],
    ids=["learned", "sinusoidal", "documents", "cache"],
)
def test_positions_that_half_precision_would_round(layer, inputs):
    """257 is 256 then."""
    name, values = *inputs, np.array(next(iter(inputs.values())), "float32")
    empty = {"cache": dict.fromkeys(("key", "value"), np.zeros((B, 2, 5, D // 2), "float32"))}
    with pytest.raises(ValueError, match=rf"{name} must be integers: received float32. Cast them"):
        layer(X, **{name: values}, **(empty if name == "cache_positions" else {}))


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tensors of TensorFlow")
def test_tensors_that_are_not_dense():
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_row_lengths(X.reshape(-1, D), [4, 6])
    for layer, inputs in [
        (EncoderBlock(N, 16), {"hidden_states": ragged}),
        (FeedForward(16), {"hidden_states": keras.Input((None, D), ragged=True)}),
        (Recurrence("gru", 4), {"hidden_states": X, "padding_mask": tf.ragged.constant([[1, 1], [1]])}),
        (TokenEmbedding(9, 4), {"inputs": tf.ragged.constant([[1, 1], [1]])}),
    ]:
        with pytest.raises(ValueError, match=r"must be a dense tensor: received a ragged one. Pass x.to_tensor\(\)"):
            layer(**inputs)
    with pytest.raises(ValueError, match="received a sparse one"):
        TokenEmbedding(9, 4)(tf.sparse.from_dense([[1, 2]]))


def test_rotary_positions_are_not_rounded():
    positions = np.array([[257.0, 4097.0]], "float32")
    layer = RotaryPositions(8, dtype="mixed_bfloat16")
    np.testing.assert_allclose(to_numpy(layer(positions)[0]), to_numpy(layer(positions.astype("int32"))[0]))


def test_numbers_that_are_in_the_table():
    embedding = TokenEmbedding(9, 4)
    ids = np.array([[0, 8]])
    np.testing.assert_array_equal(to_numpy(embedding(ids.astype("float32"))), to_numpy(embedding(ids)))
    assert embedding(np.zeros((0, 3), int)).shape == (0, 3, 4)
    assert embedding(np.zeros((2, 0), int)).shape == (2, 0, 4)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), embedding])
    assert model.predict(ids, verbose=0).shape == (1, 2, 4)


def test_a_text_that_is_too_long_is_seen_without_values():
    for options in ({}, {"positions": keras.Input((T,), dtype="int32")}):
        with pytest.raises(ValueError, match="the sequence has 5 tokens and the position table 4 rows"):
            LearnedPositions(4)(keras.Input((T, D)), **options)
