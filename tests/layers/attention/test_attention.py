from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy, tolerance
from invariants import check_padding
from keras import ops
from layer_checks import IDLE_WEIGHTS, check_layer, randomize_built
from pairs import pairwise

from keras_transformers.layers import Attention, RotaryPositions, padding_mask

B, T, S, D, N = 2, 3, 5, 8, 4


def arguments(kind: str, kv_heads: int, head_dim: int) -> dict:
    """Call arguments of Attention, in the ways in which models call it."""
    mask = np.arange(S) < np.array([[[3]], [[5]]])
    positions = np.array([[0, 1, 2], [2, 3, 4]])
    cache = {"key": normal(B, kv_heads, S, head_dim, seed=2), "value": normal(B, kv_heads, S, head_dim, seed=3)}
    options = {
        "self": {},
        "masked": {"attention_mask": mask[..., :T]},
        "biased": {"position_bias": normal(B, N, T, T)},
        "rotary": {"rotary": tuple(to_numpy(RotaryPositions(head_dim)(positions)))},
        "context": {"context": normal(B, S, D, seed=4), "attention_mask": mask},
        "cached": {"attention_mask": mask, "cache": cache, "cache_positions": positions},
        "frozen": {"attention_mask": mask, "cache": cache},
    }
    return {"hidden_states": normal(B, T, D, seed=1), **options[kind]}


CASES = pairwise(
    kind=["self", "masked", "biased", "rotary", "context", "cached", "frozen"],
    num_kv_heads=[None, 2],
    head_dim=[None, 6],
    scale=[None, 1.0],
    dropout=[0.0, 0.5],
    use_bias=[True, False],
    return_scores=[False, True],
    return_cache=[True, False],
    initializer_range=[0.02, None],
    linear_from=[4096, 2],
)


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
def test_layer(case, tmp_path):
    options = {name: value for name, value in case.items() if name != "kind"}
    idle = r"/(key|value)/" if case["kind"] == "frozen" else IDLE_WEIGHTS
    inputs = arguments(case["kind"], case["num_kv_heads"] or N, case["head_dim"] or D // N)
    check_layer(Attention, {"num_heads": N, **options}, inputs, tmp_path, idle)


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
