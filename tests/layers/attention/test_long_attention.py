from __future__ import annotations

from collections.abc import Callable
from functools import partial

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy, tolerance
from gradients import gradients
from keras import ops
from layer_checks import randomize_built
from pairs import pairwise

from keras_transformers.layers import Attention, EncoderBlock, padding_mask
from keras_transformers.layers.attention.long_attention import long_attention
from keras_transformers.layers.attention.products import mix
from keras_transformers.layers.attention.query_chunks import chunk_size
from keras_transformers.layers.attention.scores import ScoreOptions, Visible, attention_weights

B, N, S, H = 2, 4, 7, 4

CASES = pairwise(
    length=[1, 7, 8],
    chunk=[1, 4, 16],
    kv_heads=[2, 4],
    mask=["none", "padding", "full", "nothing"],
    bias=[0, 1],
    dropout=[False, True],
    soft_cap=[None, 1.5],
    dtype=["float32", "bfloat16"],
)


def masks(kind: str, length: int):
    random = np.random.default_rng(0)
    shape = (B, 1, S) if kind == "padding" else (1 if kind == "nothing" else B, length, S)
    return None if kind == "none" else (random.random(shape) < 0.6) & (kind != "nothing")


def draws(kept: np.ndarray, chunk: int):
    """Dropout's multipliers (B, N, T, S) in chunks."""
    length = kept.shape[2]
    padded = np.pad(kept, [(0, 0), (0, 0), (0, -length % chunk), (0, 0)])
    chunks = ops.convert_to_tensor(padded.reshape(*kept.shape[:2], -1, chunk, kept.shape[3]))
    return lambda index, shape: ops.take(chunks, index, axis=2)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_it_is_attention(case):
    """Its output and its gradients are those of attention that keeps all scores."""
    length, chunk, dtype = case["length"], case["chunk"], case["dtype"]
    shapes = [(B, N, length, H), *[(B, case["kv_heads"], S, H)] * 2]
    shapes += [(case["bias"], N, length, S)] if case["bias"] else []
    arrays = [ops.cast(normal(*shape, seed=seed), dtype) for seed, shape in enumerate(shapes)]
    mask, upstream = masks(case["mask"], length), normal(B, N, length, H, seed=9)
    kept = (normal(B, N, length, S, seed=8) > 0).astype("float32") * 2 if case["dropout"] else None

    def plain(query, key, value, bias=None):
        weights = attention_weights(query, key, ScoreOptions(Visible(mask), bias, soft_cap=case["soft_cap"]))
        return mix(ops.cast(weights if kept is None else weights * kept, dtype), value)

    def ours(query, key, value, bias=None):
        multipliers = None if kept is None else draws(kept, chunk)
        options = ScoreOptions(Visible(mask), bias, soft_cap=case["soft_cap"])
        return long_attention(query, key, value, options, multipliers, chunk)

    np.testing.assert_allclose(to_numpy(ours(*arrays)), to_numpy(plain(*arrays)), **tolerance(dtype))
    found, expected = (
        gradients(lambda *x, f=function: ops.cast(f(*x), "float32") * upstream, *arrays) for function in (ours, plain)
    )
    limit = tolerance(dtype) if dtype == "float32" else {"atol": 0.1, "rtol": 0.05}  # sums of rounded numbers
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **limit)


def test_gradients_where_a_mask_for_each_head_hides_the_whole_window():
    """Such a query gives equal weights to all keys, and nothing to learn for those outside of the window."""
    x, mask = normal(1, 9, 8), np.ones((1, 4, 9, 9), bool)
    mask[0, 1, 4] = False
    at_once, in_chunks = (Attention(4, window=(2, 1), linear_from=start) for start in (None, 1))
    randomize_built(at_once, {"hidden_states": x})
    in_chunks.build(x.shape)
    in_chunks.set_weights(at_once.get_weights())
    one, other = (
        gradients(lambda y, attention=attention: ops.square(attention(y, attention_mask=mask)), x)[0]
        for attention in (at_once, in_chunks)
    )
    np.testing.assert_allclose(one, other, **tolerance("float32"))


WINDOWS = pairwise(
    length=[2, 7, 8],
    chunk=[1, 3, 16],
    window=[(2, 1), (0, 0), (None, 0), (0, None), (1, 9)],
    kv_heads=[2, 4],
    mask=["none", "padding", "full", "documents"],
    bias=[0, 1],
    dropout=[False, True],
    dtype=["float32", "bfloat16"],
)


@pytest.mark.integration(quick=["8-16-(0, 0)-2-none-0-True-float32"])
@pytest.mark.parametrize("case", WINDOWS, ids=lambda case: "-".join(map(str, case.values())))
def test_a_chunk_takes_the_keys_in_its_window(case):
    """As if the mask said all of it; with several texts in a row, too."""
    length, chunk, dtype, (before, after) = case["length"], case["chunk"], case["dtype"], case["window"]
    shapes = [(B, N, length, H), *[(B, case["kv_heads"], length, H)] * 2]
    shapes += [(case["bias"], N, length, length)] if case["bias"] else []
    arrays = [ops.cast(normal(*shape, seed=seed), dtype) for seed, shape in enumerate(shapes)]
    upstream = normal(B, N, length, H, seed=9)

    documents = np.array([[1, 1, 2, 2, 2, 3, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1]])[:, :length]
    given = {"none": {}, "documents": {"documents": documents}}.get(case["mask"])
    if given is None:
        given = {
            "attention_mask": np.random.default_rng(0).random((B, 1 if case["mask"] == "padding" else length, length))
            < 0.6
        }
    distances = np.arange(length)[:, None] - np.arange(length)
    mask = (distances <= (length if before is None else before)) & (distances >= -(length if after is None else after))
    mask = mask & given.get("attention_mask", True)
    if "documents" in given:
        mask = mask & (documents[:, :, None] == documents[:, None]) & (documents[:, None] > 0)
    mask = np.broadcast_to(mask, (B, length, length))
    upstream = upstream * mask.any(-1)[:, None, :, None]  # what sees nothing is a mean of what is there
    visible = Visible(window=case["window"], **given)
    np.testing.assert_array_equal(np.broadcast_to(to_numpy(visible.whole(length)), mask.shape), mask)

    def multipliers(index, shape):
        """Numbers that go by the places of query and key: plain attention gets the same."""
        return ops.cast(ops.ones(shape), "float32") * (1.5 if case["dropout"] else 1.0)

    def plain(query, key, value, bias=None):
        weights = attention_weights(query, key, ScoreOptions(Visible(mask), bias))
        return mix(ops.cast(weights * (1.5 if case["dropout"] else 1.0), dtype), value)

    def ours(query, key, value, bias=None):
        return long_attention(query, key, value, ScoreOptions(visible, bias), multipliers, chunk)

    one, other = (to_numpy(ops.cast(function(*arrays), "float32")) * (upstream != 0) for function in (ours, plain))
    np.testing.assert_allclose(one, other, **tolerance(dtype))
    found, expected = (
        gradients(lambda *x, f=function: ops.cast(f(*x), "float32") * upstream, *arrays) for function in (ours, plain)
    )
    limit = tolerance(dtype) if dtype == "float32" else {"atol": 0.1, "rtol": 0.05}
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **limit)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("kv_heads", [None, 2])
def test_layers_are_the_same_from_a_length_on(kv_heads, dtype):
    x, mask = normal(B, 6, 16), padding_mask(np.arange(6) < np.array([[6], [4]]))
    short, long = (Attention(N, num_kv_heads=kv_heads, linear_from=start, dtype=dtype) for start in (7, 6))
    randomize_built(short, {"hidden_states": x})
    long.build(x.shape)
    long.set_weights(short.get_weights())
    found, expected = (to_numpy(layer(x, attention_mask=mask)) for layer in (long, short))
    np.testing.assert_allclose(found, expected, **tolerance(dtype))


@pytest.mark.integration
def test_a_length_that_is_not_known_before(tmp_path):
    """One graph serves both ways, also when it is saved."""
    inputs = {"x": keras.Input((None, 16), name="x"), "mask": keras.Input((None,), dtype="int32", name="mask")}
    block = EncoderBlock(N, 32, linear_from=5, window=(3, 1))
    model = keras.Model(inputs, block(inputs["x"], attention_mask=padding_mask(inputs["mask"])))
    model.save(tmp_path / "model.keras")
    model, plain = (
        keras.saving.load_model(tmp_path / "model.keras"),
        EncoderBlock(N, 32, linear_from=None, window=(3, 1)),
    )
    plain.build((None, None, 16))
    plain.set_weights(model.get_weights())
    for length in (1, 4, 5, 9):
        x, mask = normal(B, length, 16), np.arange(length) < np.array([[length], [1]])
        expected = to_numpy(plain(x, attention_mask=padding_mask(mask)))
        np.testing.assert_allclose(model.predict({"x": x, "mask": mask}, verbose=0), expected, **tolerance("float32"))


@pytest.mark.integration
@pytest.mark.parametrize("jit, window", [(False, (None, None)), (False, (280, 5)), (True, (280, 5))])
def test_fit_at_lengths_that_are_not_known_before(jit, window):
    """With XLA too, which compiles anew for each length; its steps are those of attention that keeps all scores."""
    losses = []
    for linear_from in (100, None):
        keras.utils.set_random_seed(0)
        x = keras.Input((None, 8))
        block = EncoderBlock(2, 8, dropout=0.1, linear_from=linear_from, window=window)
        model = keras.Model(x, keras.layers.Dense(1)(keras.ops.mean(block(x), axis=1)))
        model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=jit)
        batches = [(normal(4, length, 8), np.ones((4, 1))) for length in (6, 300)]
        losses.append([float(model.train_on_batch(*batch)) for batch in batches])
    np.testing.assert_allclose(*losses, rtol=1e-4)


def untold(function: Callable, mask, *arrays) -> list:
    """Gradients of the sum of a function, which on TensorFlow is traced for shapes that are not known."""
    if keras.backend.backend() != "tensorflow":
        return gradients(partial(function, mask), *arrays)
    import tensorflow as tf

    specs = [tf.TensorSpec((None, None, None), "bool"), *(tf.TensorSpec((None, N, None, None)) for _ in arrays)]

    @tf.function(input_signature=specs, autograph=False)
    def traced(mask, *arrays):
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            *heads, bias = arrays
            total = tf.reduce_sum(function(mask, *(tf.ensure_shape(x, (None, N, None, H)) for x in heads), bias))
        return tape.gradient(total, arrays)

    return traced(mask, *arrays)


@pytest.mark.integration
@pytest.mark.parametrize("rows", [1, B])
def test_shapes_that_are_not_known_before(rows):
    """A mask or a bias may have one row for all, and not say so before."""
    arrays = [normal(B, N, 7, H), normal(B, N, S, H, seed=1), normal(B, N, S, H, seed=2), normal(rows, N, 7, S, seed=3)]
    mask = np.random.default_rng(0).random((rows, 7 if rows == 1 else 1, S)) < 0.7

    def ours(mask, query, key, value, bias):
        return ops.square(long_attention(query, key, value, ScoreOptions(Visible(mask), bias), chunk=3))

    def plain(query, key, value, bias):
        return ops.square(mix(attention_weights(query, key, ScoreOptions(Visible(mask), bias)), value))

    for one, other in zip(untold(ours, mask, *arrays), gradients(plain, *arrays), strict=True):
        np.testing.assert_allclose(one, other, **tolerance("float32"))


def test_dropout_draws_alike_forwards_and_backwards():
    """The gradient is the slope of the output at the same draws."""
    attention, x = Attention(N, dropout=0.5, linear_from=2), normal(1, 5, 16)
    attention.build(x.shape)
    attention.set_weights([normal(*weight.shape, seed=seed) / 2 for seed, weight in enumerate(attention.weights)])
    direction, state = normal(1, 5, 16, seed=3), attention.dropout.seed_generator.state
    start = to_numpy(state)

    def output(x):
        state.assign(start)
        return attention(x, training=True)

    (gradient,) = gradients(lambda x: ops.square(output(x)), x)
    ahead, behind = (float(ops.sum(ops.square(output(x + step * direction)))) for step in (3e-3, -3e-3))
    assert np.sum(gradient * direction) == pytest.approx((ahead - behind) / 6e-3, rel=1e-2)
    assert np.abs(to_numpy(output(x)) - to_numpy(attention(x, training=True))).max() > 1e-3


def test_windows_and_documents_are_of_self_attention():
    x, documents = normal(B, 3, 16), np.ones((B, 3), "int32")
    cache = dict.fromkeys(("key", "value"), normal(B, N, 3, H))
    with pytest.raises(ValueError, match=r"received a cache with .* and documents\. Say in attention_mask"):
        Attention(N)(x, documents=documents, cache=cache)
    with pytest.raises(ValueError, match=r"received a context with .* and documents"):
        Attention(N)(x, x[:, :2], documents=documents)
    with pytest.raises(ValueError, match=r"received a context with window=\(1, 0\) and no documents"):
        Attention(N, window=(1, 0))(x, x[:, :2])


@pytest.mark.parametrize("queries, keys", [(0, 0), (1, 7), (300, 300), (9000, 100_000), (70_000, 70_000)])
def test_chunks_are_as_large_where_lengths_are_not_known_before(queries, keys):
    expected = chunk_size(queries, keys)
    assert int(chunk_size(ops.convert_to_tensor(queries), ops.convert_to_tensor(keys))) == expected
    assert 1 <= expected <= 256 and expected * keys <= max(2**21, 32 * keys)


def test_chunks_draw_apart():
    """Dropout is not the same in each chunk, nor in two calls."""
    attention = Attention(1, dropout=0.5, linear_from=1, use_bias=False)
    attention.build((None, None, 2))
    attention.set_weights([np.eye(2)] * 4)
    rows = np.ones((1, 600, 2), "float32")
    first, second = (to_numpy(attention(rows, training=True))[0, :, 0] for _ in range(2))
    assert len(np.unique(first)) > 30 and np.abs(first - second).max() > 1e-3
    assert np.abs(first[:256] - first[256:512]).max() > 1e-3


MEMORY = """
from keras_transformers import Attention
import tensorflow as tf
attention = Attention(1, {options})
@tf.function
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(attention(x, documents=tf.ones((1, tf.shape(x)[1]), "int32")))
    return tape.gradient(total, x)
def step(length):
    gradient(tf.ones((1, length, 8))).numpy()
    # Not ru_maxrss, which starts with that of the process that this one comes from.
    with open("/proc/self/status") as status:
        return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])
before = step(64)
print(step({length}) - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, length, least, most",
    [
        ("", 16_384, 0, 0.4e9),
        ("linear_from=None", 16_384, 1e9, 9e9),  # the scores of one head alone
        ("window=(None, 0)", 24_576, 0, 0.4e9),  # a causal mask of all tokens alone would take 0.6 GB
        ("window=(64, 64)", 131_072, 0, 0.4e9),  # and all scores 69 GB, which would also take minutes
    ],
)
def test_memory(options, length, least, most):
    """What a gradient takes of it, of one head of width 8."""
    import subprocess
    import sys

    code = MEMORY.format(options=options, length=length)
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=300)
    assert least < int(result.stdout) < most
