"""Fused attention is plain attention: by cuDNN where there is a GPU, else by XLA and as a program for cuDNN."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy, tolerance
from gradients import gradients, weight_gradients
from keras import ops
from layer_checks import randomize_built
from pairs import pairwise

from keras_transformers import families
from keras_transformers.layers import ALiBi, Attention, RelativePositionBias
from keras_transformers.layers.attention import fused_attention as fused
from keras_transformers.layers.attention.products import mix
from keras_transformers.layers.attention.scores import ScoreOptions, Visible, attention_weights
from keras_transformers.layers.core.accelerator import Accelerator, accelerator
from keras_transformers.models import decoder, encoder, encoder_decoder

H100, TPU = Accelerator("gpu", 9.0), Accelerator("tpu")
KERNEL = "cudnn" if accelerator().platform == "gpu" else "xla"  # of half precision
B, N, T, S, H = 2, 4, 6, 8, 8

MASKS = {
    "none": {},
    "causal": {"window": (None, 0)},
    "causal window": {"window": (2, 0)},
    "wide causal window": {"window": (T, 0)},
    "window": {"window": (2, 1)},
    "padding": {"attention_mask": np.arange(T) < np.array([[[4]], [[T]]])},
    "only padding in a row": {"attention_mask": np.arange(T) < np.array([[[0]], [[T]]])},
    "full": {"attention_mask": np.random.default_rng(0).random((B, T, T)) < 0.5},
    "nothing": {"attention_mask": np.zeros((1, T, T), bool)},
    "documents": {"documents": np.array([[1, 1, 2, 2, 0, 0], [1, 1, 1, 1, 1, 1]]), "window": (None, 0)},
}
CASES = pairwise(
    mask=list(MASKS), bias=[None, (1, N), (B, N), (1, 1)], kv_heads=[1, 2, 4], dtype=["float32", "bfloat16", "float16"]
)


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_it_is_attention(case):
    """Its output and all gradients are those of attention that keeps the scores, also of queries that see nothing."""
    dtype, visible = case["dtype"], Visible(**MASKS[case["mask"]])
    shapes = [(B, N, T, H), *[(B, case["kv_heads"], T, H)] * 2]
    shapes += [] if case["bias"] is None else [(*case["bias"], T, T)]
    arrays = [ops.cast(normal(*shape, seed=seed), dtype) for seed, shape in enumerate(shapes)]
    upstream = normal(B, N, T, H, seed=9)

    def plain(query, key, value, bias=None):
        return mix(ops.cast(attention_weights(query, key, ScoreOptions(visible, bias)), dtype), value)

    def ours(query, key, value, bias=None):
        kernel = "xla" if dtype == "float32" else KERNEL
        return fused.fused_attention(query, key, value, ScoreOptions(visible, bias), kernel)

    np.testing.assert_allclose(to_numpy(ours(*arrays)), to_numpy(plain(*arrays)), **tolerance(dtype))
    found, expected = (
        gradients(lambda *x, f=function: ops.cast(f(*x), "float32") * upstream, *arrays) for function in (ours, plain)
    )
    limit = tolerance(dtype) if dtype == "float32" else {"atol": 0.1, "rtol": 0.05}  # sums of rounded numbers
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **limit)


POSITIONS = np.arange(T)[None]
CALLS = {
    "padding": ({}, {"padding_mask": np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]])}),
    "causal": ({}, {"use_causal_mask": True}),
    "packed": ({"window": (None, 0)}, {"documents": MASKS["documents"]["documents"]}),
    "window": ({"window": (2, 0), "num_kv_heads": 2}, {}),
    "masked by head": ({}, {"attention_mask": np.random.default_rng(1).random((B, N, T, T)) < 0.7}),
    "long": ({"window": (3, 0), "linear_from": 2}, {}),
    "cross": ({}, {"context": normal(B, S, N * H, seed=2), "padding_mask": np.arange(S) < np.array([[5], [S]])}),
    "alibi": ({}, {"position_bias": to_numpy(ALiBi(N)(POSITIONS, POSITIONS)), "use_causal_mask": True}),
    "relative": (
        {"num_kv_heads": 1, "scale": 1.0},
        {"position_bias": to_numpy(RelativePositionBias(N, bidirectional=True)(POSITIONS, POSITIONS))},
    ),
    "prefill": (
        {},
        {
            "cache": {"key": np.zeros((B, N, S, H), "float32"), "value": np.zeros((B, N, S, H), "float32")},
            "cache_positions": np.arange(T) + np.array([[0], [2]]),
            "attention_mask": np.arange(S) <= np.arange(T)[:, None] + np.array([[[0]], [[2]]]),
        },
    ),
}


def half(tree):
    """Arrays of a call in bfloat16, if they are numbers."""

    def cast(x):
        return ops.cast(x, "bfloat16") if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x

    return keras.tree.map_structure(cast, tree)


@pytest.mark.integration
@pytest.mark.parametrize("kind", CALLS)
def test_a_layer_that_takes_it_is_the_same(kind, monkeypatch):
    """Outputs and the gradients of all weights, as models call the layer; that the kernel runs is asserted."""
    options, arguments = CALLS[kind]
    arguments = half({"hidden_states": normal(B, T, N * H, seed=1), **arguments})
    attention = randomize_built(Attention(N, dtype="bfloat16", **options), arguments)
    upstream, kernels = normal(B, T, N * H, seed=5), []
    runs = fused.fused_attention
    monkeypatch.setattr(
        "keras_transformers.layers.attention.attend.fused_attention",
        lambda *inputs: kernels.append(inputs[-1]) or runs(*inputs[:-1], KERNEL),
    )

    def outcome(device):
        kernels.clear()
        monkeypatch.setattr(fused, "accelerator", lambda: device)
        outputs = attention(**arguments)
        parts = to_numpy(list(outputs) if isinstance(outputs, tuple) else [outputs])
        call = {name: value for name, value in arguments.items() if name != "cache"}
        slopes = {} if "cache" in arguments else weight_gradients(attention, upstream, call)
        return parts, slopes, set(kernels)

    (expected, slopes, none), (found, our_slopes, taken) = outcome(Accelerator()), outcome(H100)
    assert (none, taken) == (set(), {"cudnn"})
    for one, other in zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-2, rtol=2e-2)
    for name, slope in slopes.items():
        np.testing.assert_allclose(our_slopes[name], slope, atol=0.02 * np.abs(slope).max(), err_msg=name)


@pytest.mark.parametrize("why", ["dropout", "float32", "one step", "old JAX", "split heads", "soft cap"])
def test_the_plain_path_stays_where_a_kernel_has_no_way(why, monkeypatch):
    import jax

    def refuse(*_):
        raise AssertionError("a kernel was taken")

    monkeypatch.setattr("keras_transformers.layers.attention.attend.fused_attention", refuse)
    monkeypatch.setattr(fused, "accelerator", lambda: H100)
    options = {"soft_cap": 2.0} if why == "soft cap" else {}
    attention = Attention(N, dropout=0.5, dtype="float32" if why == "float32" else "bfloat16", **options)
    x = half(normal(B, 1 if why == "one step" else T, N * H))
    attention.build(x.shape)
    if why == "old JAX":
        monkeypatch.setattr(jax, "__version_info__", (0, 8, 0))
    if why == "split heads":
        split = object.__new__(keras.distribution.ModelParallel)
        monkeypatch.setattr(keras.distribution, "distribution", lambda: split)
    attention(x, training=why == "dropout")


def test_scores_that_nothing_uses_cost_nothing(monkeypatch):
    """Decoders of encoder-decoders always return them, for alignments; a program that drops them has no softmax."""
    import jax

    monkeypatch.setattr("keras_transformers.layers.attention.attend.fused_attention", lambda query, *_: query)
    monkeypatch.setattr(fused, "accelerator", lambda: H100)
    attention = Attention(N, dtype="bfloat16", return_scores=True)
    x = half(normal(B, T, N * H))
    attention.build(x.shape)
    programs = [jax.jit(lambda x, n=number: attention(x)[:n]).lower(x).compile().as_text() for number in (1, 2)]
    assert ["exponential" in program for program in programs] == [False, True]


def test_scores_are_those_of_the_plain_path(monkeypatch):
    attention = Attention(N, dtype="bfloat16")
    x = half(normal(B, T, N * H))
    expected = to_numpy(attention(x, use_causal_mask=True, return_attention_scores=True))
    monkeypatch.setattr(fused, "accelerator", lambda: TPU)
    output, scores = to_numpy(attention(x, use_causal_mask=True, return_attention_scores=True))
    np.testing.assert_array_equal(scores, expected[1])
    np.testing.assert_allclose(output, expected[0], atol=2e-2, rtol=2e-2)


@pytest.mark.integration
@pytest.mark.parametrize("kind", CALLS)
def test_cudnn_takes_the_call(kind, monkeypatch):
    """JAX' own checks pass, and the program for a GPU calls cuDNN forward and backward; it is made, not run."""
    import jax
    from jax._src.cudnn import fused_attention_stablehlo as cudnn

    monkeypatch.setattr(cudnn, "check_cudnn_version", lambda: 91500)
    monkeypatch.setattr(cudnn, "check_compute_capability", lambda _: True)
    monkeypatch.setattr(cudnn, "is_cuda_compute_capability_equal", lambda _: False)
    options, arguments = CALLS[kind]
    arguments = half({"hidden_states": normal(B, T, N * H, seed=1), **arguments})
    attention = randomize_built(Attention(N, dtype="bfloat16", **options), arguments)
    monkeypatch.setattr(fused, "accelerator", lambda: H100)
    states = arguments.pop("hidden_states")

    def total(states):
        outputs = attention(states, **arguments)
        return ops.sum(ops.cast(outputs[0] if isinstance(outputs, tuple) else outputs, "float32"))

    program = jax.jit(jax.grad(total)).trace(states).lower(lowering_platforms=("cuda",)).as_text()
    assert "__cudnn$fmha" in program and "Backward" in program


@pytest.mark.integration
@pytest.mark.parametrize(("family", "attentions"), [("bert", 2), ("gpt2", 2), ("llama", 2), ("t5", 6)])
def test_every_attention_of_a_model_takes_it(family, attentions, monkeypatch):
    """With the masks and biases that models make: padding, several texts in a row, relative positions."""
    sizes = {"num_layers": 2, "num_heads": N, "hidden_dim": N * H, "max_length": 32, "intermediate_dim": 64}
    config = getattr(families, family)(30, **sizes)
    make = {"encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder}[config.kind]
    model = randomize(make(config, dtype="mixed_bfloat16"), scale=0.2)
    ids = np.random.default_rng(0).integers(5, 30, (B, T))
    real = np.array([[1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1]])
    given = {x.name: ids for x in model.inputs}
    given |= {x.name: 0 * ids for x in model.inputs if "segment" in x.name}
    given |= {x.name: real if config.kind == "decoder" else real > 0 for x in model.inputs if "mask" in x.name}

    expected, runs, kernels = to_numpy(model(given)["hidden_states"]), fused.fused_attention, []
    monkeypatch.setattr(
        "keras_transformers.layers.attention.attend.fused_attention",
        lambda *inputs: kernels.append(inputs[-1]) or runs(*inputs[:-1], KERNEL),
    )
    monkeypatch.setattr(fused, "accelerator", lambda: H100)
    found = to_numpy(model(given)["hidden_states"])
    assert kernels == ["cudnn"] * attentions
    np.testing.assert_allclose(found[real > 0], expected[real > 0], atol=0.1, rtol=0.05)
    assert np.isfinite(found).all()
