"""Masks as users of Keras give them: carried by tensors, or by name in any shape that has one reading."""

from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy, tolerance
from keras import ops

from keras_transformers.layers import (
    ALiBi,
    Attention,
    Convolution,
    DecoderBlock,
    DocumentPositions,
    Dropout,
    EncoderBlock,
    FeedForward,
    LayerNormalization,
    LearnedPositions,
    MixerDecoderBlock,
    MixerEncoderBlock,
    PositionIds,
    Recurrence,
    RelativePositionBias,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from keras_transformers.utils import keras_private

B, N, T, D = 2, 2, 5, 8
SHORT = np.array([[3, 4, 5], [7, 8, 9]])
PADDED = np.pad(SHORT, ((0, 0), (0, 4)))
LAYERS = {
    "attention": lambda **options: Attention(N, **options),
    "long attention": lambda **options: Attention(N, linear_from=1, **options),
    "encoder": lambda **options: EncoderBlock(N, 16, **options),
    "pre-norm encoder": lambda **options: EncoderBlock(N, 16, norm="rms", norm_order="pre", **options),
    "decoder": lambda **options: DecoderBlock(N, 16, **options),
    "recurrence": lambda **options: Recurrence("gru", 6, bidirectional=True, **options),
    "convolution": lambda **options: Convolution(6, **options),
    "mixer encoder": lambda **options: MixerEncoderBlock("lstm", 6, **options),
    "feed-forward": lambda **options: FeedForward(16, **options),
    "norm": LayerNormalization,
    "dropout": lambda **options: Dropout(0.1, **options),
    "learned positions": lambda **options: LearnedPositions(10, **options),
    "sinusoidal positions": SinusoidalPositions,
}
BY_NAME = [*LAYERS][:8]  # that take masks by name
EMBEDDINGS = {
    "ours": lambda **options: TokenEmbedding(20, D, num_segments=2, mask_zero=True, **options),
    "Keras'": lambda **options: keras.layers.Embedding(20, D, mask_zero=True, **options),
}
MASK = np.random.default_rng(0).random((B, T, T)) < 0.6
MASK[:, :, 0] = True


def first(outputs):
    return outputs[0] if isinstance(outputs, (tuple, list)) else outputs


@pytest.mark.integration(quick=[f"{name}-ours-float32" for name in ("attention", "encoder", "decoder", "feed-forward")])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("name", LAYERS)
def test_padding_changes_nothing_behind_an_embedding(name, embedding, dtype):
    """Of the mask that Keras carries, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        token_ids = keras.Input((None,), dtype="int32")
        x = EMBEDDINGS[embedding](dtype=dtype)(token_ids)
        x = first(LAYERS[name](dtype=dtype)(x))
        x = first(LAYERS[name](dtype=dtype)(x))  # the mask is handed on
        model = keras.Model(token_ids, keras.layers.GlobalAveragePooling1D()(x))
        for number, weight in enumerate(model.weights):
            weight.assign(normal(*weight.shape, seed=number, scale=0.5))
        short, padded = to_numpy(model(SHORT)), to_numpy(model(PADDED))
    limit = 1e-5 if dtype == "float32" else 5e-2
    np.testing.assert_allclose(padded, short, atol=limit, rtol=limit)
    assert not np.allclose(to_numpy(model(np.where(PADDED, PADDED, 11))), short, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("width", [D, 300])
def test_ids_of_the_dtype_that_keras_inputs_have(width, dtype):
    """Floating-point numbers: they make the same mask, whatever the width, and are not rounded."""
    embedding = TokenEmbedding(300, width, mask_zero=True, dtype=dtype)
    ids = np.pad(np.array([[257, 3]]), ((0, 0), (0, D - 2)))  # as many as the width
    token_ids = keras.Input((D,))
    # Of the same dtype: up to Keras 3.12, a layer that casts its inputs loses their mask.
    pooling = keras.layers.GlobalAveragePooling1D(dtype=dtype)
    model = keras.Model(token_ids, pooling(embedding(token_ids)))
    real = to_numpy(embedding(ids))[:, :2].astype("float32")
    np.testing.assert_allclose(
        to_numpy(model(ids.astype("float32"))).astype("float32"), real.mean(1), atol=1e-2, rtol=1e-2
    )
    assert embedding(normal(2, width), reverse=True).shape == (2, 300)
    assert keras_private.mask_of(embedding(normal(2, width), reverse=True)) is None


GAPS = {
    "in front": [[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]],
    "between": [[1, 0, 1, 0, 1], [1, 1, 0, 0, 1]],
    "behind": [[1, 1, 1, 0, 0], [1, 0, 0, 0, 0]],
}


@pytest.mark.integration(quick=["lstm-False-between-given", "lstm-False-in front-given"])
@pytest.mark.parametrize("is_carried", [True, False], ids=["carried", "given"])
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["lstm", "block"])
def test_steps_that_are_missing_anywhere(kind, bidirectional, gaps, is_carried):
    """States go past them, as those of Keras' recurrent layers do: real rows are those of the rows without gaps."""
    mixers = {"lstm": lambda: Recurrence("lstm", 6, bidirectional), "block": lambda: MixerEncoderBlock("gru", 6, True)}
    layer, x, mask = mixers[kind](), normal(B, T, D), np.array(GAPS[gaps], bool)
    layer.build(x.shape)
    randomize(layer, scale=0.3)
    given = x if not is_carried else keras.layers.Masking(9.0)(np.where(mask[..., None], x, 9.0).astype("float32"))
    outputs = to_numpy(layer(given, **({} if is_carried else {"padding_mask": mask})))
    for row in range(B):
        alone = to_numpy(layer(x[row : row + 1, mask[row]]))[0]
        np.testing.assert_allclose(outputs[row, mask[row]], alone, atol=1e-6)


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("encoder", [None, "state"])
def test_steps_that_are_missing_from_a_decoder(encoder, gaps):
    """Nor from what it begins with."""
    layer, x, context = MixerDecoderBlock("lstm", 6, encoder=encoder), normal(B, T, D), normal(B, T, D, seed=1)
    layer.build(x.shape, *([x.shape] if encoder else []))
    randomize(layer, scale=0.3)
    mask = np.array(GAPS[gaps], bool)
    contexts = {"context": context, "encoder_padding_mask": mask} if encoder else {}
    outputs = to_numpy(layer(x, padding_mask=mask, **contexts))
    for row in range(B):
        source = {"context": context[row : row + 1, mask[row]]} if encoder else {}
        alone = to_numpy(layer(x[row : row + 1, mask[row]], **source))[0]
        np.testing.assert_allclose(outputs[row, mask[row]], alone, atol=1e-6)


@pytest.mark.parametrize("kind", ["rotary", "relative", "alibi", "documents"])
def test_positions_of_masked_states(kind):
    """Without a warning, and the mask stays with the states."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        token_ids = keras.Input((None,), dtype="int32")
        x = EMBEDDINGS["ours"]()(token_ids)
        places = PositionIds()(x)
        inputs = {
            "rotary": lambda: {"rotary": RotaryPositions(D // N)(places)},
            "relative": lambda: {"position_bias": RelativePositionBias(N)(places, places)},
            "alibi": lambda: {"position_bias": ALiBi(N)(places, places)},
            "documents": lambda: {"documents": DocumentPositions()(token_ids) * 0 + 1},
        }[kind]()
        x = EncoderBlock(N, 16)(x, **inputs)
        model = keras.Model(token_ids, keras.layers.GlobalAveragePooling1D()(x))
        np.testing.assert_allclose(to_numpy(model(PADDED)), to_numpy(model(SHORT)), atol=1e-6)


def padding_error(layer, call):
    """The greatest change of a real row by padding, of which Keras' mask tells, or one by name: `call(x, mask)`."""
    randomize(layer, scale=0.2)
    short, padding = normal(B, 3, D), np.array([[1, 1, 1, 0, 0]] * B, bool)
    zeros, others = (np.concatenate([short, rest], axis=1) for rest in (np.zeros((B, 2, D)), normal(B, 2, D, seed=1)))
    outputs = call(keras.layers.Masking()(zeros), None), call(others.astype("float32"), padding)
    return max(np.abs(to_numpy(output)[:, :3] - to_numpy(call(short, None))).max() for output in outputs)


@pytest.mark.integration(quick=["attention", "convolution", "decoder", "encoder", "long attention", "pre-norm encoder"])
@pytest.mark.parametrize("name", BY_NAME)
def test_padding_changes_no_real_row(name):
    layer = LAYERS[name]()
    layer.build((B, None, D))
    assert padding_error(layer, lambda x, mask: first(layer(x, padding_mask=mask))) <= 1e-6


@pytest.mark.parity
@pytest.mark.parametrize("name", ["attention", "encoder", "pre-norm encoder", "decoder"])
def test_padding_changes_no_real_row_of_keras_nlp(name):
    """By the same measure: the limit is none that only ours could pass."""
    from keras_nlp.layers import TransformerDecoder, TransformerEncoder

    if name == "attention":
        layer = keras.layers.MultiHeadAttention(N, D // N)
        layer.build((B, None, D), (B, None, D))
        error = padding_error(
            layer, lambda x, mask: layer(x, x, attention_mask=None if mask is None else mask[:, None])
        )
    else:
        kind, takes = (
            (TransformerDecoder, "decoder_padding_mask") if name == "decoder" else (TransformerEncoder, "padding_mask")
        )
        layer = kind(16, N, normalize_first=name != "encoder")
        layer.build((B, None, D))
        error = padding_error(layer, lambda x, mask: layer(x, **{takes: mask}))
    assert error <= 1e-6


def test_in_sequential_and_time_series():
    layers = [keras.layers.Masking(), EncoderBlock(N, 16), EncoderBlock(N, 16), keras.layers.GlobalAveragePooling1D()]
    model = keras.Sequential(layers)
    series = normal(B, 3, D)
    padded = np.pad(series, ((0, 0), (0, 4), (0, 0)))
    np.testing.assert_allclose(to_numpy(model(padded)), to_numpy(model(series)), atol=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("name", BY_NAME)
def test_masks_that_keras_passes_by_name(name):
    """As `TimeDistributed` does: documents (B, 3, T) of sentences."""
    layer = LAYERS[name]()
    documents = np.stack([PADDED, PADDED[::-1], PADDED], axis=1)  # (B, 3, T)
    embedded = keras.layers.Embedding(20, D, mask_zero=True)
    each = keras.layers.TimeDistributed(layer)
    short, padded = (first(each(embedded(x))) for x in (documents[..., :3], documents))
    randomize(layer, scale=0.2)
    short, padded = (to_numpy(first(each(embedded(x)))) for x in (documents[..., :3], documents))
    np.testing.assert_allclose(padded[:, :, :3], short, atol=1e-6)


class Tempered(Attention):
    """Which touches its input, so that the mask is on it no more."""

    def call(self, hidden_states, context=None, *, temperature=1.0, **inputs):
        return super().call(hidden_states * temperature, context, **inputs)


class Renamed(EncoderBlock):
    def call(self, x, **inputs):
        return super().call(x * 1.0, **inputs)


@pytest.mark.parametrize("make", [lambda: Tempered(N), lambda: Renamed(N, 16)], ids=["attention", "renamed"])
def test_subclasses_that_touch_their_input(make):
    layer, embedding = make(), EMBEDDINGS["ours"]()
    short, padded = (to_numpy(layer(embedding(ids))) for ids in (SHORT, PADDED))
    np.testing.assert_allclose(padded[:, :3], short, atol=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize(("remat", "jit_compile"), [(False, False), (True, False), (False, True)])
def test_fit_with_remat_and_xla(remat, jit_compile):
    """Blocks that are computed twice, compiled ones, and `fit`."""
    block = EncoderBlock(N, 16)
    block.remat = remat
    layers = [keras.layers.Embedding(20, D, mask_zero=True), block, keras.layers.GlobalAveragePooling1D()]
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *layers])
    model.compile("sgd", "mse", jit_compile=jit_compile)
    start = model.get_weights()
    after = []
    for token_ids in (SHORT, PADDED):
        model.set_weights(start)
        model.fit(token_ids, np.ones((2, D)), verbose=0)
        after.append(model.get_weights())
    for one, other in zip(*after, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.integration(quick=["bool-None", "int32-None"])
@pytest.mark.parametrize("linear_from", [None, 1])
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32"])
def test_masks_of_every_shape(dtype, linear_from):
    attention, x = Attention(N, linear_from=linear_from), normal(B, T, D)
    expected = to_numpy(attention(x, attention_mask=MASK))

    def found(mask, x=x, **options):
        return to_numpy(attention(x, attention_mask=mask, **options))

    mask = MASK.astype(dtype)
    for same in (mask, mask[:, None], np.repeat(mask[:, None], N, axis=1)):
        np.testing.assert_allclose(found(same), expected, **tolerance("float32"))
    one = to_numpy(attention(x, attention_mask=MASK[:1]))
    for same in (mask[0], mask[:1], mask[:1, None], np.repeat(mask[:1, None], N, axis=1)):
        np.testing.assert_allclose(found(same), one, **tolerance("float32"))
    padding = np.arange(T) < np.array([[2], [4]])
    both = to_numpy(attention(x, attention_mask=MASK & padding[:, None]))
    np.testing.assert_allclose(found(mask, padding_mask=padding.astype(dtype)), both, **tolerance("float32"))
    rows = to_numpy(attention(x, padding_mask=padding.astype(dtype)))
    for same in (padding.astype(dtype)[:, None], padding.astype(dtype)[:, None, None]):
        np.testing.assert_allclose(found(same), rows, **tolerance("float32"))


@pytest.mark.parametrize("linear_from", [None, 1])
def test_a_mask_for_each_head(linear_from):
    """A query that may see one key has its value."""
    attention, x = Attention(N, linear_from=linear_from, return_scores=True), normal(B, T, D)
    mask = np.random.default_rng(1).random((B, N, T, T)) < 0.5
    mask[..., 0] = True
    weights = to_numpy(attention(x, attention_mask=mask)[-1])
    assert (weights[~mask] == 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
    bias = normal(1, N, T, T, seed=2)
    weights = to_numpy(attention(x, attention_mask=mask, position_bias=bias)[-1])
    assert (weights[~mask] == 0).all() and np.isfinite(weights).all()
    blind = to_numpy(attention(x, attention_mask=np.zeros((B, N, T, T), bool))[0])
    assert np.isfinite(blind).all()


@pytest.mark.parametrize("name", ["attention", "long attention", "encoder", "decoder"])
def test_use_causal_mask(name):
    layer, x, options = LAYERS[name](), normal(B, T, D), {"use_causal_mask": False} if name == "decoder" else {}
    causal = np.tril(np.ones((1, T, T), bool))
    expected = to_numpy(first(layer(x, attention_mask=causal, **options)))
    np.testing.assert_allclose(to_numpy(first(layer(x, use_causal_mask=True))), expected, **tolerance("float32"))


def test_a_causal_mask_for_a_context():
    """As Keras has it: query i sees the first i + 1 keys."""
    attention, x, context = Attention(N), normal(B, T, D), normal(B, T + 1, D, seed=1)
    causal = np.tril(np.ones((1, T, T + 1), bool))
    expected = to_numpy(attention(x, context, attention_mask=causal))
    np.testing.assert_allclose(to_numpy(attention(x, context, use_causal_mask=True)), expected, **tolerance("float32"))


@pytest.mark.parametrize("window", [(None, None), (1, 0)])
def test_a_causal_mask_beside_a_cache(window):
    """Token by token, as at once: by `cache_positions` alone."""
    decoder, x = DecoderBlock(N, 16, window=window), normal(B, T, D)
    expected, cache = to_numpy(decoder(x)), None
    cache = {name: np.zeros((B, N, T + 2, D // N), "float32") for name in ("key", "value")}
    for start, end in ((0, 2), (2, 3), (3, T)):
        places = np.arange(start, end)[None].repeat(B, axis=0)
        output, cache = decoder(x[:, start:end], cache=cache, cache_positions=places)
        np.testing.assert_allclose(to_numpy(output), expected[:, start:end], **tolerance("float32"))


def test_the_mask_of_the_context():
    """Of an encoder's states, carried or by name."""
    decoder, x = DecoderBlock(N, 16, cross_attention=True), normal(B, T, D)
    short, padding = normal(B, 3, D, seed=1), np.array([[1, 1, 1, 0]] * B)
    padded = np.concatenate([short, normal(B, 1, D, seed=2)], axis=1)
    expected = to_numpy(decoder(x, short))
    by_name = decoder(x, padded, encoder_padding_mask=padding)
    zeros = np.concatenate([short, np.zeros((B, 1, D))], axis=1).astype("float32")
    carried = decoder(x, keras.layers.Masking()(zeros))
    for found in (by_name, carried):
        np.testing.assert_allclose(to_numpy(found), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (
            np.ones((B, T)),
            r"shape \(2, 5\) is not \(queries, keys\), \(5, 5\) here: pass a mask of padding as padding_",
        ),
        (np.ones((B, T + 1, T)), r"batch, heads, queries, keys = \(2, 2, 5, 5\) here: received \(2, 6, 5\)"),
        (np.ones((B, 3, T, T)), r"received \(2, 3, 5, 5\)"),
        (np.ones(T), r"received \(5\)"),
        (
            np.where(MASK, 0.0, -1e9),
            "numbers from -1e\\+09 to 0. For a mask that is added to the scores, pass mask == 0",
        ),
        (np.where(MASK, 0, -10_000), "numbers from -10000 to 0"),
    ],
)
def test_what_is_refused(mask, message):
    with pytest.raises(ValueError, match=message):
        Attention(N)(normal(B, T, D), attention_mask=mask)


def test_a_shape_with_two_readings_is_refused():
    with pytest.raises(ValueError, match=r"can be \(queries, keys\), \(2, 2\) here, and can be \(batch, keys\)"):
        Attention(N)(normal(2, 2, D), attention_mask=np.ones((2, 2), bool))
    with pytest.raises(ValueError, match=r"padding_mask must be \(batch, keys\), \(2, 5\) here: received \(2, 5, 5\)"):
        Attention(N)(normal(B, T, D), padding_mask=MASK)


def test_a_float_mask_in_a_graph_is_refused():
    states, mask = keras.Input((None, D)), keras.Input((None, None))
    with pytest.raises(ValueError, match="received float32 in a graph"):
        Attention(N)(states, attention_mask=mask)
    model = keras.Model([states, mask], Attention(N)(states, attention_mask=ops.cast(mask, "bool")))
    assert model.predict([normal(B, T, D), MASK.astype("float32")], verbose=0).shape == (B, T, D)
