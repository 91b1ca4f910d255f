"""Faults that a test must notice: models with wrong weights, and checkpoints as another tool would write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest


def swap(one: keras.layers.Layer, other: keras.layers.Layer) -> None:
    """Exchange the weights of two layers."""
    first, second = one.get_weights(), other.get_weights()
    one.set_weights(second)
    other.set_weights(first)


def swap_norms(model: keras.Model) -> None:
    """Those of the attention and of the feed-forward layer of the second block."""
    (block,) = [layer for layer in model.layers if layer.name in ("encoder_block_1", "decoder_block_1")]
    swap(block.attention_norm, block.feed_forward_norm)


def drop(layer: keras.layers.Layer) -> None:
    """Make all weights of a layer zero."""
    layer.set_weights([np.zeros_like(weight) for weight in layer.get_weights()])


def drop_positions(model: keras.Model) -> None:
    drop(model.get_layer("position_embedding"))


def effects(
    model: keras.Model, mutations: Iterable[Callable], restore: Callable[[], Any], difference: Callable[[], float]
) -> dict[str, float]:
    """How far off a model is with each of some faults, by their names."""
    found = {}
    for mutate in mutations:
        restore()
        mutate(model)
        found[mutate.__name__] = difference()
    return found


def rewrite(folder: Path, change: Callable[[dict], dict]) -> None:
    """Changes the tensors of a checkpoint."""
    safetensors = pytest.importorskip("safetensors.torch")
    path = folder / "model.safetensors"
    tensors = change(safetensors.load_file(path))
    safetensors.save_file(
        {name: tensor.contiguous().clone() for name, tensor in tensors.items()}, path, {"format": "pt"}
    )
