"""Rematerialised blocks: the same outputs, gradients and draws, and inner values that are computed again."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from gradients import gradients
from keras import ops

from keras_transformers.layers import DecoderBlock, Dropout, EncoderBlock, MixerDecoderBlock
from keras_transformers.layers.blocks.rematerialization import recompute
from keras_transformers.layers.core.accelerator import Accelerator

B, T, D = 2, 5, 8
RATES = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.2}
MASK = np.tri(T, dtype=bool)[None]
ROTARY = (normal(1, T, 1), normal(1, T, 1, seed=1))
REAL = np.array([[[1, 1, 1, 1, 1]], [[1, 1, 0, 0, 0]]], bool)
# Blocks and what they are called with: tensors to differentiate by, and others.
BLOCKS = {
    "encoder": (
        lambda: EncoderBlock(2, 16, return_scores=True, **RATES),
        {"hidden_states": normal(B, T, D), "position_bias": normal(1, 2, T, T, seed=1)},
        {"attention_mask": REAL},
    ),
    "long": (  # computes its scores again by itself
        lambda: EncoderBlock(2, 16, linear_from=2, window=(1, 1), **RATES),
        {"hidden_states": normal(B, T, D)},
        {"documents": np.ones((B, T), "int32")},
    ),
    "decoder": (
        lambda: DecoderBlock(4, 16, cross_attention=True, num_kv_heads=2, gated=True, norm="rms", **RATES),
        {"hidden_states": normal(B, T, D), "context": normal(B, T, D, seed=1)},
        {"attention_mask": MASK, "encoder_attention_mask": REAL, "rotary": ROTARY},
    ),
    "mixer_decoder": (
        lambda: MixerDecoderBlock("lstm", 16, encoder="state", dropout=0.3),
        {"hidden_states": normal(B, T, D), "context": normal(B, T, D, seed=1)},
        {"positions": np.arange(T)[None], "encoder_attention_mask": REAL},
    ),
}


def made(name):
    make, tensors, others = BLOCKS[name]
    keras.utils.set_random_seed(1)
    block = make()
    block(**tensors, **others)
    return randomize(block, scale=0.3), tensors, others


DEVICES = ["cpu", "gpu"] if keras.backend.backend() == "jax" else ["cpu"]


@pytest.mark.integration
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", BLOCKS)
def test_gradients_and_draws_stay(name, device, monkeypatch):
    """By all floating inputs, of the sum over all outputs: cache and scores have gradients too."""
    monkeypatch.setattr("keras_transformers.layers.core.dropout.accelerator", lambda: Accelerator(device))
    (block, tensors, others), seen = made(name), {}
    generators = [layer.seed_generator for layer in dropouts(block)]
    starts = [to_numpy(generator.state.value) for generator in generators]

    def total(*values):
        outputs = block(**dict(zip(tensors, values, strict=True)), **others, training=True)
        return sum(ops.sum(ops.sin(part)) for part in keras.tree.flatten(outputs))

    for block.remat in (False, True):
        for generator, start in zip(generators, starts, strict=True):
            generator.state.assign(start)
        slopes = gradients(total, *tensors.values())
        after = [to_numpy(generator.state.value).tolist() for generator in generators]
        seen[block.remat] = slopes, after
    for one, other in zip(seen[True][0], seen[False][0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert seen[True][1] == seen[False][1] != [start.tolist() for start in starts]


def dropouts(block):
    return [layer for layer in block._flatten_layers() if isinstance(layer, Dropout) and layer.rate]


@pytest.mark.integration
def test_training_steps_stay():
    """In a compiled step, of weights too; each block and each step draws anew."""
    runs = []
    for remat in (False, True):
        keras.utils.set_random_seed(1)
        inputs = hidden_states = keras.Input((T, D))
        for index in range(2):
            block = EncoderBlock(2, 16, name=f"block_{index}", **RATES)
            block.remat = remat
            hidden_states = block(hidden_states)
        model = keras.Model(inputs, hidden_states)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        x = normal(4, T, D)
        losses = [float(model.train_on_batch(x, x[::-1].copy())) for _ in range(3)]
        runs.append((losses, *model.get_weights()))
    for one, other in zip(*runs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    assert len(set(runs[0][0])) == 3


@pytest.mark.parametrize("training", [False, True])
def test_only_training_computes_again(training, monkeypatch):
    calls = []
    monkeypatch.setattr(keras, "remat", lambda function: calls.append(function) or function)
    block, tensors, others = made("encoder")
    block.remat = True
    block(**tensors, **others, training=training)
    assert len(calls) == training


def test_nothing_of_it_is_saved():
    block, _, _ = made("encoder")
    config = block.get_config()
    block.remat = True
    assert block.get_config() == config and not EncoderBlock.from_config(config).remat


def test_a_function_is_computed_again_for_its_gradient():
    calls = []

    def function(inputs):
        calls.append(inputs["name"])
        return ops.sin(inputs["x"]) * inputs["factor"]

    x = normal(3)
    (slope,) = gradients(lambda x: recompute(function, {"x": x, "factor": 2, "name": "a"}), x)
    np.testing.assert_allclose(slope, 2 * np.cos(x), rtol=1e-5)
    assert len(calls) == (2 if keras.backend.backend() == "tensorflow" else 1)  # JAX repeats what it has traced


def test_what_is_kept_for_the_gradient():
    """On JAX, which says so: the inputs and weights alone. On TensorFlow a slow test takes the memory."""
    if keras.backend.backend() != "jax":
        return
    import jax

    block, tensors, _ = made("encoder")

    def kept(remat):
        block.remat = remat
        _, backward = jax.vjp(lambda x: block(x, training=True)[0], ops.convert_to_tensor(tensors["hidden_states"]))
        return sum(array.size for array in jax.tree.leaves(backward))

    assert kept(True) < kept(False) / 2


MEMORY = """
import numpy as np, keras, sys
from keras_transformers import EncoderBlock
inputs = hidden_states = keras.Input((None, 32))
for index in range(12):
    block = EncoderBlock(8, 64, dropout=0.1, attention_dropout=0.1)
    block.remat = bool({remat})
    hidden_states = block(hidden_states)
model = keras.Model(inputs, hidden_states)
model.compile("sgd", "mse", jit_compile=False)
def step(length):
    x = np.ones((2, length, 32), "float32")
    model.train_on_batch(x, x)
    # Not ru_maxrss, which starts with that of the process that this one comes from.
    with open("/proc/self/status") as status:
        return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])
step(16)
before = step(24)  # traced for any length: a graph takes memory too
print(step(512) - before)
"""


@pytest.mark.slow
def test_memory():
    """On TensorFlow, of a step of 12 blocks."""
    import subprocess
    import sys

    codes = [[sys.executable, "-c", MEMORY.format(remat=remat)] for remat in (0, 1)]
    kept, again = (int(subprocess.run(code, check=True, capture_output=True, timeout=300).stdout) for code in codes)
    assert again < kept / 2
