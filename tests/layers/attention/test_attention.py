from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy, tolerance
from gradients import weight_gradients
from invariants import check_padding
from keras import ops
from layer_checks import IDLE_WEIGHTS, check_layer, randomize_built
from pairs import pairwise

from keras_transformers.layers import Attention, EncoderBlock, RotaryPositions, copy_weights, padding_mask

B, T, S, D, N = 2, 3, 5, 8, 4


def arguments(kind: str, kv_heads: int, head_dim: int, value_dim: int | None = None) -> dict:
    """Call arguments of Attention, in the ways in which models call it."""
    mask = np.arange(S) < np.array([[[3]], [[5]]])
    positions = np.array([[0, 1, 2], [2, 3, 4]])
    cache = {
        "key": normal(B, kv_heads, S, head_dim, seed=2),
        "value": normal(B, kv_heads, S, value_dim or head_dim, seed=3),
    }
    options = {
        "self": {},
        "masked": {"attention_mask": mask[..., :T]},
        "biased": {"position_bias": normal(B, N, T, T)},
        "rotary": {"rotary": tuple(to_numpy(RotaryPositions(head_dim)(positions)))},
        "context": {"context": normal(B, S, D, seed=4), "attention_mask": mask},
        "key": {"context": normal(B, S, 6, seed=4), "key": normal(B, S, 4, seed=5), "attention_mask": mask},
        "cached": {"attention_mask": mask, "cache": cache, "cache_positions": positions},
        "frozen": {"attention_mask": mask, "cache": cache},
    }
    return {"hidden_states": normal(B, T, D, seed=1), **options[kind]}


CASES = pairwise(
    kind=["self", "masked", "biased", "rotary", "context", "key", "cached", "frozen"],
    num_kv_heads=[None, 2],
    head_dim=[None, 6],
    value_dim=[None, 5],
    scale=[None, 1.0],
    dropout=[0.0, 0.5],
    use_bias=[True, False],
    return_scores=[False, True],
    return_cache=[True, False],
    initializer_range=[0.02, None],
    linear_from=[4096, 2],
    output_bias=[None, True, False],
    soft_cap=[None, 1.5],
    head_norm=[None, "rms", "layer"],
)


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
def test_layer(case, tmp_path):
    options = {name: value for name, value in case.items() if name != "kind"}
    idle = r"/(key|value|key_norm)/" if case["kind"] == "frozen" else rf"{IDLE_WEIGHTS}|key_norm/beta$"
    inputs = arguments(case["kind"], case["num_kv_heads"] or N, case["head_dim"] or D // N, case["value_dim"])
    check_layer(Attention, {"num_heads": N, **options}, inputs, tmp_path, idle)


OPTIONS = {
    "soft cap": {"soft_cap": 1.5},
    "norms of heads": {"head_norm": "rms", "num_kv_heads": 2},
    "layer norms of heads": {"head_norm": "layer", "epsilon": 1e-3},
    "biases of queries, keys and values": {"output_bias": False},
    "bias of the output": {"use_bias": False, "output_bias": True},
}


@pytest.mark.integration
@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_the_same_in_every_path(name):
    """At once, in chunks and with a cache: outputs and the gradients of all weights."""
    options, x = {"window": (None, 0), **OPTIONS[name]}, normal(B, 6, D, scale=2)
    rotary = tuple(to_numpy(RotaryPositions(D // N)(np.arange(6)[None])))
    short, long = Attention(N, linear_from=None, **options), Attention(N, linear_from=2, **options)
    randomize_built(short, {"hidden_states": x})
    long.build(x.shape)
    long.set_weights(short.get_weights())
    expected = to_numpy(short(x, rotary=rotary))
    np.testing.assert_allclose(to_numpy(long(x, rotary=rotary)), expected, **tolerance("float32"))
    one, other = (weight_gradients(layer, normal(B, 6, D, seed=3), {"hidden_states": x, "rotary": rotary})
                  for layer in (short, long))  # fmt: skip
    for path, gradient in one.items():
        np.testing.assert_allclose(other[path], gradient, rtol=1e-3, atol=1e-4, err_msg=path)

    cache = {part: np.zeros((B, short.num_kv_heads, 6, D // N), "float32") for part in ("key", "value")}
    for place in range(6):
        step = {"cache": cache, "cache_positions": np.full((B, 1), place)}
        step |= {"attention_mask": np.arange(6) <= np.full((1, 1, 1), place)}
        step |= {"rotary": tuple(table[:, place : place + 1] for table in rotary)}
        output, cache = short(x[:, place : place + 1], **step)
        np.testing.assert_allclose(to_numpy(output)[:, 0], expected[:, place], **tolerance("float32"))


def test_norms_of_heads_and_soft_caps_are_their_formulas():
    x, width = normal(B, T, D), D // N
    layer = randomize_built(Attention(N, soft_cap=1.5, head_norm="rms", epsilon=0.1), {"hidden_states": x})
    _, weights = layer(x, return_attention_scores=True)

    def heads(dense, norm):
        states = to_numpy(dense(x)).reshape(B, T, N, width).transpose(0, 2, 1, 3)
        return states / np.sqrt((states**2).mean(-1, keepdims=True) + 0.1) * to_numpy(norm.weights[0])

    products = heads(layer.query, layer.query_norm) @ heads(layer.key, layer.key_norm).swapaxes(-1, -2)
    expected = softmax(1.5 * np.tanh(products / np.sqrt(width) / 1.5))
    np.testing.assert_allclose(to_numpy(weights), expected, **tolerance("float32"))


@pytest.mark.parametrize(
    ("use_bias", "output_bias", "expected"),
    [(True, False, "qkv"), (False, True, "o"), (True, None, "qkvo"), (False, None, "")],
)
def test_biases_by_projection(use_bias, output_bias, expected):
    layer = Attention(N, use_bias=use_bias, output_bias=output_bias)
    layer.build((None, None, D))
    found = [dense.name[0] for dense in (layer.query, layer.key, layer.value, layer.output_dense) if dense.use_bias]
    assert "".join(found) == expected


def test_the_old_name_of_a_window_is_read():
    """`reach`, in calls and in the configuration of a layer that was saved under it."""
    assert Attention(N, reach=(1, 0)).window == (1, 0)
    for layer, sizes in ((Attention, {}), (EncoderBlock, {"intermediate_dim": 8})):
        with pytest.raises(ValueError, match=r"received reach=\(1, 0\) and window=\(2, 0\): leave out reach"):
            layer(num_heads=2, reach=(1, 0), window=(2, 0), **sizes)
    block = EncoderBlock.from_config({"num_heads": N, "intermediate_dim": 8, "reach": [2, 1]})
    assert block.attention.window == (2, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"soft_cap": 0}, "soft_cap"), ({"soft_cap": float("nan")}, "soft_cap"),
        ({"head_norm": "batch"}, r"norm must be one of .*'layer', 'rms'.*: received 'batch'"),
    ],
)  # fmt: skip
def test_options_of_scores_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        Attention(N, **options)


def dictionary(scale: float) -> Attention:
    """Attention without projections: the inputs are the queries, keys and values."""
    attention = Attention(num_heads=1, scale=scale, use_bias=False, return_scores=True)
    attention.build((None, None, 2))
    for weight in attention.weights:
        weight.assign(np.eye(2))
    return attention


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_worked_example_of_cross_attention():
    queries = np.array([[-1, -2.5], [4, 3]], "float32")
    memory = np.array([[-2, -4], [-2.5, -0.5], [4.5, 2.5]], "float32")
    scores = queries @ memory.T
    np.testing.assert_array_equal(scores, [[12, 3.75, -10.75], [-20, -11.5, 25.5]])
    np.testing.assert_allclose(scores / 3, [[4, 1.25, -3.5833], [-6.6667, -3.8333, 8.5]], atol=5e-5)

    output, weights = to_numpy(dictionary(scale=1 / 3)(queries[None], memory[None]))

    np.testing.assert_allclose(weights[0, 0], softmax(scores / 3), atol=1e-6)
    np.testing.assert_allclose(weights[0, 0], [[0.94, 0.06, 0.00], [0.00, 0.00, 1.00]], atol=5e-3)
    np.testing.assert_allclose(output[0], [[-2.027, -3.787], [4.500, 2.500]], atol=5e-4)


def test_worked_example_of_masked_self_attention():
    inputs = np.array([[1, 1], [-1, -2.5], [4, 3], [2, -3]], "float32")
    mask = np.tril(np.ones((4, 4), bool))
    scores = inputs @ inputs.T
    expected = [[2, -3.5, 7, -1], [-3.5, 7.25, -11.5, 5.5], [7, -11.5, 25, -1], [-1, 5.5, -1, 13]]
    np.testing.assert_array_equal(scores, expected)

    output, weights = to_numpy(dictionary(scale=1)(inputs[None], attention_mask=mask[None]))

    np.testing.assert_allclose(weights[0, 0], softmax(np.where(mask, scores, -np.inf)), atol=1e-6)
    np.testing.assert_allclose(weights[0, 0, 3], [0, 0.0006, 0, 0.9994], atol=5e-5)
    expected = [[1, 1], [-0.9999571, -2.499925], [4, 3], [1.9983424, -2.9997153]]
    np.testing.assert_allclose(output[0], expected, atol=1e-6)


def test_scale_defaults_to_the_formulas():
    inputs = normal(1, 4, 2)
    expected = to_numpy(dictionary(scale=2**-0.5)(inputs))
    np.testing.assert_array_equal(to_numpy(dictionary(scale=None)(inputs))[0], expected[0])
    assert np.abs(to_numpy(dictionary(scale=1)(inputs))[0] - expected[0]).max() > 1e-2


@pytest.mark.parametrize("number", [1, 2, 3])
def test_weights_of_few_keys(number):
    queries, keys = normal(1, T, 2), normal(1, number, 2, seed=1)
    _, weights = to_numpy(dictionary(scale=1)(queries, keys))
    np.testing.assert_allclose(weights[0, 0], softmax(queries[0] @ keys[0].T), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("num_kv_heads", [None, 2])
def test_padding_changes_nothing(num_kv_heads, dtype):
    attention = Attention(N, num_kv_heads=num_kv_heads, dtype=dtype)
    hidden_states = normal(3, S, D)
    randomize_built(attention, {"hidden_states": hidden_states})

    def run(hidden_states, mask):
        return attention(hidden_states, attention_mask=padding_mask(mask))

    check_padding(run, hidden_states, np.array([5, 3, 1]), dtype)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_a_row_that_may_attend_nothing_is_finite(dtype):
    attention = Attention(N, dtype=dtype)
    mask = np.array([[[True] * T, [False] * T, [True] * T]])
    arguments = {"hidden_states": normal(1, T, D, scale=10), "attention_mask": mask}
    randomize_built(attention, arguments)
    assert np.isfinite(to_numpy(attention(**arguments))).all()


def test_grouped_heads_are_repeated_heads():
    few, many = Attention(N, num_kv_heads=2), Attention(N)
    hidden_states = normal(B, T, D)
    randomize_built(few, {"hidden_states": hidden_states})
    many.build(hidden_states.shape)

    def repeat(weight):
        """(..., K * H) -> (..., N * H)"""
        heads = to_numpy(weight).reshape(*weight.shape[:-1], 2, D // N)
        return heads.repeat(2, axis=-2).reshape(*weight.shape[:-1], D)

    for name in ("query", "key", "value", "output_dense"):
        weights = getattr(few, name).weights
        if name in ("key", "value"):
            weights = [repeat(weight) for weight in weights]
        getattr(many, name).set_weights(weights)
    expected = to_numpy(many(hidden_states))
    np.testing.assert_allclose(to_numpy(few(hidden_states)), expected, **tolerance("float32"))


def test_rotary_attention_depends_on_distances_only():
    hidden_states = normal(B, T, D)
    attention = randomize_built(Attention(N), {"hidden_states": hidden_states})
    rotary = RotaryPositions(D // N)
    near, far = (to_numpy(attention(hidden_states, rotary=rotary(np.arange(T)[None] + k))) for k in (0, 20))
    np.testing.assert_allclose(near, far, atol=1e-4)
    assert np.abs(near - to_numpy(attention(hidden_states))).max() > 1e-2


def test_a_cache_keeps_what_is_not_written():
    inputs = arguments("cached", N, D // N)
    attention = randomize_built(Attention(N), inputs)
    old, new = inputs["cache"]["value"], to_numpy(attention(**inputs)[1]["value"])
    fresh = to_numpy(attention(inputs["hidden_states"], return_cache=True)[1]["value"])
    for row, positions in enumerate(inputs["cache_positions"]):
        np.testing.assert_allclose(new[row][:, positions], fresh[row], atol=1e-6)
        rest = np.setdiff1d(np.arange(S), positions)
        np.testing.assert_array_equal(new[row][:, rest], old[row][:, rest])


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_a_cache_may_be_overwritten(dtype):
    inputs = arguments("cached", N // 2, D // N)
    attention = randomize_built(Attention(num_heads=N, num_kv_heads=N // 2, dtype=dtype), inputs)
    old = {name: x.copy() for name, x in inputs["cache"].items()}
    copied = keras.tree.map_structure(to_numpy, attention(**inputs))
    assert all((to_numpy(inputs["cache"][name]) == old[name]).all() for name in old)
    cache = {name: ops.array(x, attention.compute_dtype) for name, x in old.items()}
    written = keras.tree.map_structure(to_numpy, attention(**inputs | {"cache": cache}, in_place=True))
    keras.tree.map_structure(lambda one, other: np.testing.assert_array_equal(one, other), written, copied)
    if keras.backend.backend() == "tensorflow":
        assert all((to_numpy(cache[name]) == written[1][name]).all() for name in cache)


def test_weights_sum_to_one_over_the_keys_that_may_be_attended():
    attention = Attention(N, return_scores=True)
    inputs = arguments("masked", N, D // N)
    weights = to_numpy(randomize_built(attention, inputs)(**inputs)[1])
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    assert not weights[np.broadcast_to(~inputs["attention_mask"][:, None], weights.shape)].any()


def test_errors_name_the_sizes():
    with pytest.raises(ValueError, match="num_heads=4, num_kv_heads=3"):
        Attention(4, num_kv_heads=3)
    with pytest.raises(ValueError, match=r"num_heads=3: received 8.*head_dim"):
        Attention(3)(normal(B, T, D))


@pytest.mark.parity
def test_glorot_of_the_three_projections_as_one_matrix():
    """As torch starts its packed projection; fairseq, with three matrices, by a gain of 1/sqrt(2)."""
    torch = pytest.importorskip("torch")
    ours, width = Attention(N, initializer_range=None), 256
    ours.build((B, T, width))
    bound = float(torch.nn.MultiheadAttention(width, N).in_proj_weight.detach().abs().max())
    for dense in (ours.query, ours.key, ours.value):
        assert abs(to_numpy(dense.kernel)).max() == pytest.approx(bound, rel=0.01)
    assert abs(to_numpy(ours.output_dense.kernel)).max() == pytest.approx(bound * 2**0.5, rel=0.01)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_values_of_another_width_in_every_path(dtype):
    """Chunks of queries, and a cache read step by step, give what the whole gives."""
    x = normal(B, S, D)
    options = {"num_heads": N, "num_kv_heads": 2, "head_dim": 6, "value_dim": 5, "dtype": dtype}
    whole, chunked = Attention(**options), Attention(linear_from=1, **options)
    randomize_built(whole, {"hidden_states": x})
    chunked.build(x.shape)
    chunked.set_weights(whole.get_weights())
    expected, cache = whole(x, use_causal_mask=True, return_cache=True)
    assert tuple(cache["key"].shape) == (B, 2, S, 6) and tuple(cache["value"].shape) == (B, 2, S, 5)
    limits = tolerance(dtype)
    np.testing.assert_allclose(to_numpy(chunked(x, use_causal_mask=True)), to_numpy(expected), **limits)
    cache = {name: ops.zeros_like(part) for name, part in cache.items()}
    for place in range(S):
        places = np.full((B, 1), place)
        row, cache = whole(x[:, place : place + 1], cache=cache, cache_positions=places, use_causal_mask=True)
        np.testing.assert_allclose(to_numpy(row[:, 0]), to_numpy(expected[:, place]), **limits)


@pytest.mark.integration
def test_keys_of_their_own_beside_keras():
    """Their masks hide a key where either source has padding, as in `keras.layers.MultiHeadAttention`."""
    x, context, key = normal(B, T, D), normal(B, S, 6, seed=1), normal(B, S, 4, seed=2)
    context[0, 4:], key[1, :2] = 0, 0
    theirs, ours = keras.layers.MultiHeadAttention(2, 4, value_dim=3), Attention(2, 4, value_dim=3)
    theirs(x, context, key), ours(x, context, key)
    copy_weights(randomize(theirs), ours)
    for found in ((x, context, key), (x, *map(keras.layers.Masking(), (context, key)))):
        output = to_numpy(ours(*found))
        np.testing.assert_allclose(output, to_numpy(theirs(*found)), atol=1e-5)
    with pytest.raises(ValueError, match="needs a context, the source of the values"):
        ours(x, None, key)
    with pytest.raises(ValueError, match=r"of the same batch and length: received key \(2, 4, 4\) and \(2, 5, 6\)"):
        ours(x, context, key[:, 1:])


def test_the_share_of_a_head_that_is_turned():
    x, rotary = normal(B, 6, D), RotaryPositions(2)(np.arange(6)[None])
    layer = Attention(N, head_dim=4, partial_rotary_factor=0.5)
    assert to_numpy(layer(x, rotary=rotary)).shape == x.shape
    with pytest.raises(ValueError, match=r"RotaryPositions\(head_dim=4\) gives them"):
        Attention(N, head_dim=4)(x, rotary=rotary)
    with pytest.raises(ValueError, match=r"partial_rotary_factor must be a share in \(0, 1\]: received 2"):
        Attention(N, partial_rotary_factor=2)
