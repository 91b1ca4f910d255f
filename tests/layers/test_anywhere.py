"""Layers in models that are not of this library: wherever Keras puts a layer, it is what it is alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from keras import ops

from keras_transformers.layers import (
    Attention,
    Convolution,
    DecoderBlock,
    Dropout,
    EncoderBlock,
    FeedForward,
    LayerNormalization,
    LearnedPositions,
    MixerDecoderBlock,
    MixerEncoderBlock,
    Recurrence,
    SinusoidalPositions,
)
from keras_transformers.utils.keras_private import all_layers

B, T, D, N = 4, 5, 8, 2
X = normal(B, T, D)
LAYERS = {
    "attention": lambda: Attention(N),
    "encoder block": lambda: EncoderBlock(N, 16, dropout=0.1),
    "gated encoder block": lambda: EncoderBlock(N, 16, num_kv_heads=1, gated=True, norm="rms", norm_order="pre"),
    "decoder block": lambda: DecoderBlock(N, 16),
    "feed-forward": lambda: FeedForward(16),
    "norm": lambda: LayerNormalization(),
    "dropout": lambda: Dropout(0.1),
    "learned positions": lambda: LearnedPositions(9),
    "sinusoidal positions": lambda: SinusoidalPositions(),
    "recurrence": lambda: Recurrence("gru", 6),
    "convolution": lambda: Convolution(6),
    "mixer encoder block": lambda: MixerEncoderBlock("gru", 6),
    "mixer decoder block": lambda: MixerDecoderBlock("lstm", 6),
}
QUICK = ["attention"]
on_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="of TensorFlow")
each_layer = pytest.mark.parametrize("name", LAYERS)


def pooled(name: str) -> keras.Model:
    """A functional model of a layer, with weights at random."""
    inputs = keras.Input((T, D))
    outputs = keras.layers.Dense(3)(keras.layers.GlobalAveragePooling1D()(LAYERS[name]()(inputs)))
    return randomize(keras.Model(inputs, outputs), scale=0.3)


def check_same(one, other, limit: float = 1e-6) -> None:
    np.testing.assert_allclose(to_numpy(one), to_numpy(other), atol=limit, rtol=limit)


class Own(keras.Model):
    def __init__(self, name: str, **kwargs):
        super().__init__(**kwargs)
        self.inside, self.dense = LAYERS[name](), keras.layers.Dense(3)

    def call(self, x, training=False):
        return self.dense(ops.mean(self.inside(x), axis=1))


@each_layer
def test_one_tensor_in_and_one_out(name):
    for x in (X, keras.Input((T, D)), keras.Input((None, D))):
        assert len(LAYERS[name]()(x).shape) == 3


@pytest.mark.integration(quick=["dropout", "learned positions", "norm", "sinusoidal positions"])
@each_layer
def test_in_sequential(name):
    layers = [LAYERS[name](), LAYERS[name](), keras.layers.GlobalAveragePooling1D()]
    model = keras.Sequential(layers)
    expected = ops.mean(layers[1](layers[0](X)), axis=1)
    check_same(model(X), expected)


@pytest.mark.integration(quick=QUICK)
@each_layer
def test_in_time_distributed(name):
    layer, inputs = LAYERS[name](), keras.Input((3, T, D))
    model = keras.Model(inputs, keras.layers.TimeDistributed(layer)(inputs))
    assert model.output_shape == (None, 3, T, D)
    x = normal(2, 3, T, D)
    check_same(model(x), np.stack([to_numpy(layer(x[:, index])) for index in range(3)], axis=1))


@pytest.mark.integration(quick=QUICK)
@each_layer
def test_cloned_and_saved(name, tmp_path):
    model = pooled(name)
    twin = keras.models.clone_model(model)
    twin.set_weights(model.get_weights())
    check_same(twin(X), model(X))
    model.save(tmp_path / "model.keras")
    check_same(keras.saving.load_model(tmp_path / "model.keras")(X), model(X), 0)


@pytest.mark.integration
@each_layer
def test_in_a_subclass(name, tmp_path):
    model = Own(name)
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(X, np.ones((B, 3)), verbose=0)
    model.save_weights(tmp_path / "model.weights.h5")
    twin = Own(name)
    twin(X)
    twin.load_weights(tmp_path / "model.weights.h5")
    check_same(twin(X), model(X))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "policy"), [*((name, "float32") for name in LAYERS), *((name, "mixed_bfloat16") for name in QUICK)]
)
def test_compiled_by_xla(name, policy):
    keras.config.set_dtype_policy(policy)
    try:
        model = pooled(name)
        expected = to_numpy(model(X))
        model.compile("sgd", "mse", jit_compile=True)
        check_same(model.predict(X, verbose=0), expected, 1e-5 if policy == "float32" else 5e-2)
        model.fit(X, np.ones((B, 3)), verbose=0)
        assert np.isfinite(to_numpy(model(X))).all() and np.abs(to_numpy(model(X)) - expected).max() > 1e-3
    finally:
        keras.config.set_dtype_policy("float32")


@pytest.mark.integration
@pytest.mark.parametrize("name", ["attention", "gated encoder block", "mixer decoder block"])
def test_quantized_then_saved(name, tmp_path):
    model = pooled(name)
    expected = to_numpy(model(X))
    model.quantize("int8", filters=lambda layer: isinstance(layer, keras.layers.Dense))
    found = to_numpy(model(X))
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    check_same(loaded(X), found, 0)
    assert [*map(modes, loaded.layers)] == [*map(modes, model.layers)]


def modes(layer: keras.layers.Layer) -> list:
    return [getattr(part, "quantization_mode", None) for part in all_layers(layer)]


@pytest.mark.integration
@each_layer
def test_adapters_of_keras(name, tmp_path):
    """LoRA in every dense layer inside: merged in a file."""
    model = pooled(name)
    expected = to_numpy(model(X))
    dense = [layer for layer in all_layers(model) if isinstance(layer, keras.layers.Dense)]
    for layer in dense:
        layer.enable_lora(2)
    check_same(model(X), expected)
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(X, np.ones((B, 3)), epochs=2, verbose=0)
    assert np.abs(to_numpy(model(X)) - expected).max() > 1e-5
    model.save(tmp_path / "model.keras")
    check_same(keras.saving.load_model(tmp_path / "model.keras")(X), model(X), 1e-5)


@pytest.mark.integration
@on_tensorflow
@each_layer
def test_exported_by_keras(name, tmp_path):
    import tensorflow as tf

    model = pooled(name)
    model.export(str(tmp_path / "export"), verbose=False)
    exported = tf.saved_model.load(str(tmp_path / "export"))
    check_same(exported.serve(X), model(X), 1e-5)


ON_TWO_DEVICES = """
import keras, numpy as np, tensorflow as tf
from test_anywhere import B, LAYERS, X, pooled

device = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(device, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
strategy, targets = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), np.ones((B, 3))
with strategy.scope():
    fitted, stepped = ({name: pooled(name) for name in LAYERS} for _ in range(2))
    x = keras.Input(X.shape[1:])
    together = keras.Model(x, [model(x) for model in fitted.values()])  # one step, traced once
    together.compile("sgd", ["mse"] * len(LAYERS), jit_compile=False)
together.fit(X, [targets] * len(LAYERS), batch_size=B, verbose=0)
for name, model in stepped.items():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(keras.losses.mean_squared_error(targets, model(X, training=True)))
    weights = model.trainable_variables
    gradients = tape.gradient(loss, [weight.value for weight in weights])
    for new, old, gradient in zip(fitted[name].trainable_variables, weights, gradients, strict=True):
        expected = old.numpy() - 0.01 * tf.convert_to_tensor(gradient).numpy()
        is_equal = np.abs(new.numpy() - expected).max() < 1e-5
        assert is_equal or name in ("dropout", "encoder block"), (name, new.path)
print("all equal")
"""


@pytest.mark.integration
@on_tensorflow
def test_a_step_on_two_devices():
    """Each gets half of a batch; together they step as one does with all of it."""
    command = [sys.executable, "-c", ON_TWO_DEVICES]
    folders = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": folders}, capture_output=True, text=True)
    assert done.stdout.strip().endswith("all equal"), done.stderr


def test_scores_of_one_call():
    """A layer that a functional model calls in one way only needs no option of its constructor."""
    inputs = keras.Input((T, D))
    for layer in (Attention(N), EncoderBlock(N, 16), DecoderBlock(N, 16)):
        output, scores = layer(inputs, return_attention_scores=True)
        model = keras.Model(inputs, [output, scores])
        found, weights = (to_numpy(tensor) for tensor in model(X))
        check_same(found, layer(X))
        assert weights.shape == (B, N, T, T)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        twin = keras.Model.from_config(model.get_config())
        assert [tensor.shape for tensor in twin.outputs] == [tensor.shape for tensor in model.outputs]


@pytest.mark.integration
def test_caches_of_those_that_ask():
    cross = DecoderBlock(N, 16, cross_attention=True)
    assert cross(X, X).shape == (B, T, D)
    _, cache = cross(X, X, return_cache=True)
    assert sorted(cache) == ["cross_key", "cross_value", "key", "value"]
    *_, own, other = cross(X, X[:, :3], return_cache=True, return_attention_scores=True)
    assert (own.shape, other.shape) == ((B, N, T, T), (B, N, T, 3))
    _, own, other = DecoderBlock(N, 16, cross_attention=True, return_scores=True)(X, X[:, :3])
    assert (own.shape, other.shape) == ((B, N, T, T), (B, N, T, 3))
    assert len(Attention(N, return_cache=True)(X)) == 2
    assert Attention(N, return_cache=True)(X, return_cache=False).shape == (B, T, D)
    assert Attention(N, return_scores=True)(X, return_attention_scores=False).shape == (B, T, D)
