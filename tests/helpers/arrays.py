"""Arrays for tests: small, random, reproducible, the same on every backend."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from keras_transformers.layers.core.layer_norm import OffsetRMSNormalization


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Standard normal float32 numbers, times `scale`."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype("float32")


def to_numpy(tree: Any) -> Any:
    """A nest of tensors as numpy arrays; half precision becomes float32, which numpy can compare."""

    def convert(tensor):
        array = keras.ops.convert_to_numpy(tensor)
        return array.astype("float32") if "float" in str(array.dtype) else array

    return keras.tree.map_structure(convert, tree)


def randomize(layer: keras.Layer, seed: int = 0, scale: float = 0.5) -> Any:
    """Give every weight random numbers and return the layer.

    With the usual start (zero biases, unit norms, weights near zero) a test passes even if biases or norms are swapped.
    """
    offsets_from_one = [norm.scale for norm in layer._flatten_layers() if isinstance(norm, OffsetRMSNormalization)]
    for index, weight in enumerate(layer.weights):
        if weight.dtype == "float32":
            is_factor = weight.name in ("gamma", "scale") and not any(weight is other for other in offsets_from_one)
            offset = 1.0 if is_factor else 0.0
            weight.assign(offset + normal(*weight.shape, seed=seed + index, scale=scale))
    return layer


def tolerance(dtype: str) -> dict[str, float]:
    """What design.md allows for numbers that should be equal: 1e-5, and 2e-2 in bfloat16, absolute and relative."""
    limit = 1e-5 if dtype == "float32" else 2e-2
    return {"atol": limit, "rtol": limit}
