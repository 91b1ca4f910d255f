"""LoRA: small trainable matrices (adapters) beside the dense layers of a frozen model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import keras
import numpy as np

from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training.freeze import check_untrained, freeze
from keras_transformers.training.workers.distribute import scope
from keras_transformers.utils.keras_private import all_layers, kernel, track_variables, untrack_variable
from keras_transformers.utils.number_checks import is_size


def add_lora(model: keras.Model, rank: int, alpha: float | None = None, train: Iterable[str] = ()) -> None:
    """Add adapters to all dense layers of a model's blocks, and freeze all else but the layers in `train`.

    A dense layer x W becomes x (W + alpha / rank * A B). B starts at zero, so that the outputs do not change. Call it
    after the weights are loaded, and before the model is trained.
    Paper: Hu et al. 2021, https://arxiv.org/abs/2106.09685.

    Args:
        model: Model made by a function of `models`, with or without heads, compiled or not.
        rank: Columns of A and rows of B.
        alpha: Scale of the adapters; `rank` when None.
        train: Names of layers that are trained as a whole, such as a new `"classifier"`; names that the model does not
            have are ignored.

    Raises:
        ValueError: `rank` is not positive, `train` is one str, the model has been trained or has adapters, or its
            blocks have no dense layers.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.models import decoder
    >>> model = decoder(gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16))
    >>> add_lora(model, rank=2)
    >>> sum(int(np.prod(v.shape)) for v in model.trainable_variables)  # 2 * (4 * (16 + 16) + 2 * (16 + 64))
    576
    """
    if not is_size(rank):
        raise ValueError(f"Received rank={rank}; expected a number of at least 1, such as 8.")
    trained_layers = set(check_texts("train", train, is_ordered=False))
    check_untrained(model)
    if not (layers := _dense_layers(model)):
        raise ValueError(
            "adapters are added to the dense layers of blocks: received a model without blocks, or whose blocks have "
            "convolutions or recurrent layers instead. Train it as it is; freeze(model, ...) keeps some of its layers "
            "fixed."
        )
    with scope(getattr(model, "distribute_strategy", None)):
        for layer in layers:
            layer.enable_lora(rank, lora_alpha=alpha)
    freeze(model, [v.path for v in model.weights if not _is_adapter(v) and v.path.split("/")[0] not in trained_layers])


@contextmanager
def merged(model: keras.Model) -> Iterator[bool]:
    """Merge the adapters into the kernels within a context, in which the model has no adapters.

    Use it to save the model, or to trace a function for export: functions traced before still compute the adapters. On
    exit the adapters are restored, even after an interrupt. (`.keras` files need no such context: Keras merges the
    adapters into the kernels that it saves.)

    Args:
        model: Model with or without adapters.

    Yields:
        Whether the model has adapters.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.models import decoder
    >>> model = decoder(gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16))
    >>> add_lora(model, rank=2)
    >>> with merged(model):
    ...     any("lora" in variable.path for variable in model.weights)
    False
    """
    layers = [layer for layer in _dense_layers(model) if layer.lora_enabled]
    kernels = [np.array(kernel(layer)) for layer in layers]
    try:
        try:
            for layer in layers:
                _merge(layer)
            yield bool(layers)
        finally:
            _separate(layers, kernels)
    finally:
        _separate(layers, kernels)  # again: an interrupt may have stopped the first call


def _merge(layer: keras.layers.Dense) -> None:
    # Not `layer.kernel`, which Keras rounds to the layer's compute dtype.
    adapter = np.array(layer.lora_kernel_a) @ np.array(layer.lora_kernel_b)
    kernel(layer).assign_add(layer.lora_alpha / layer.lora_rank * adapter)
    layer.lora_enabled = False
    for variable in _adapters(layer):
        untrack_variable(layer, variable)


def _separate(layers: Sequence[keras.layers.Dense], kernels: Sequence[np.ndarray]) -> None:
    """Undo `_merge`, even if that or an earlier `_separate` was interrupted."""
    for layer, values in zip(layers, kernels, strict=True):
        kernel(layer).assign(values)
        layer.lora_enabled = True
        if sum(map(_is_adapter, layer.weights)) == 2:
            continue
        for variable in _adapters(layer):  # one may still be tracked
            untrack_variable(layer, variable)
        track_variables(layer, _adapters(layer))


def _dense_layers(model: keras.Model) -> list[keras.layers.Dense]:
    parts = [part for layer in model.layers if "_block_" in layer.name for part in all_layers(layer)]
    return [part for part in parts if isinstance(part, keras.layers.Dense)]


def _adapters(layer: keras.layers.Dense) -> tuple:
    return layer.lora_kernel_a, layer.lora_kernel_b


def _is_adapter(variable: keras.Variable) -> bool:
    return variable.name.startswith("lora_kernel_")
