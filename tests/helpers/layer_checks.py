"""What every layer must do; a layer's test is data for `check_layer`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import keras
import numpy as np
from arrays import normal, randomize, to_numpy
from keras import tree

# The gradient of a key bias is zero in exact arithmetic: it adds the same number to all scores of a row.
IDLE_WEIGHTS = r"key/bias$"


def check_layer(
    layer_class: type, options: dict[str, Any], arguments: dict[str, Any], folder: Path, idle: str = IDLE_WEIGHTS
) -> None:
    """Check one layer with one set of options on one set of call arguments.

    Args:
        layer_class: The layer.
        options: Constructor arguments.
        arguments: Call arguments by name, nests of arrays of the same batch size.
        folder: Where a model may be saved.
        idle: Pattern of the paths of weights that a training step on the first output leaves alone.
    """
    layer = randomize_built(layer_class(**options), arguments)
    _check_config(layer)
    outputs = layer(**arguments)
    model = functional(layer, arguments)
    _check_shapes(model.output, outputs)
    _check_equal(model(arguments), outputs)
    _check_saving(model, arguments, folder / "model.keras")
    for policy in ("mixed_bfloat16", "mixed_float16"):
        _check_mixed_precision(layer_class(**options, dtype=policy), layer, arguments)
    _check_fit(layer, model, arguments, idle)


def randomize_built(layer: keras.Layer, arguments: dict[str, Any]) -> keras.Layer:
    """Build the layer by a call and randomise its weights."""
    layer(**arguments)
    return randomize(layer)


def functional(layer: keras.Layer, arguments: dict[str, Any]) -> keras.Model:
    """The layer as a functional model whose inputs are its call arguments."""

    def to_input(array, name=None):
        return keras.Input(array.shape[1:], dtype=keras.backend.standardize_dtype(array.dtype), name=name)

    inputs = {
        name: tree.map_structure(to_input, value) if tree.is_nested(value) else to_input(value, name)
        for name, value in arguments.items()
    }
    return keras.Model(inputs, layer(**inputs))


def _check_config(layer: keras.Layer) -> None:
    config = layer.get_config()
    json.dumps(config)  # plain values only
    twin = type(layer).from_config(config)
    assert twin.get_config() == config and twin.name == layer.name
    assert type(layer).from_config(twin.get_config()).get_config() == config


def _check_shapes(symbolic: Any, outputs: Any) -> None:
    tree.assert_same_structure(symbolic, outputs)
    for spec, output in zip(tree.flatten(symbolic), tree.flatten(outputs), strict=True):
        assert len(spec.shape) == len(output.shape)
        assert all(size in (None, real) for size, real in zip(spec.shape, output.shape, strict=True)), (spec, output)
        assert spec.dtype == keras.backend.standardize_dtype(output.dtype)


def _check_equal(outputs: Any, expected: Any, **limits: float) -> None:
    for output, other in zip(tree.flatten(to_numpy(outputs)), tree.flatten(to_numpy(expected)), strict=True):
        assert np.isfinite(output).all()
        np.testing.assert_allclose(output, other, **({"atol": 1e-6, "rtol": 1e-6} | limits))


def _check_saving(model: keras.Model, arguments: dict[str, Any], path: Path) -> None:
    model.save(path)
    _check_equal(keras.saving.load_model(path)(arguments), model(arguments), atol=0, rtol=0)


def _check_mixed_precision(half: keras.Layer, layer: keras.Layer, arguments: dict[str, Any]) -> None:
    half(**arguments)
    half.set_weights(layer.get_weights())
    outputs = half(**arguments)
    _check_shapes(functional(half, arguments).output, outputs)
    # Far looser than an invariant: it is to catch a missing cast or an overflow. Small numbers may be differences of
    # large ones, so each array's largest number sets the limit.
    for output, other in zip(tree.flatten(to_numpy(outputs)), tree.flatten(to_numpy(layer(**arguments))), strict=True):
        _check_equal(output, other, atol=0.1 * max(1.0, np.abs(other).max()), rtol=0.1)
    assert all(weight.dtype == "float32" for weight in half.trainable_weights)


def _check_fit(layer: keras.Layer, model: keras.Model, arguments: dict[str, Any], idle: str) -> None:
    if not layer.trainable_weights:
        return
    first = tree.flatten(model.output)[0]
    trainer = keras.Model(model.input, first)
    target = normal(*tree.flatten(to_numpy(model(arguments)))[0].shape, seed=9)
    before = [to_numpy(weight) for weight in layer.trainable_weights]
    trainer.compile(keras.optimizers.SGD(1.0), "mse", jit_compile=False)
    trainer.fit(arguments, target, batch_size=len(target), verbose=0)
    for weight, old in zip(layer.trainable_weights, before, strict=True):
        moved = bool(np.any(to_numpy(weight) != old))
        assert moved or re.search(idle, weight.path), f"{weight.path} did not change in a training step"
