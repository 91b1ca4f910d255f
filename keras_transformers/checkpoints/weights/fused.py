"""Tensors stored in another layout than ours.

Fused ones hold several of our layers side by side: the query, key and value of GPT, or of each head (GPT-NeoX). Others
have another shape: a bias of shape (1, V), positions after unused rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor, by_name
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.table import Fused, Names


def split(tensors: dict[str, Tensor], names: Names, config: TransformerConfig, source: Any) -> dict[str, Tensor]:
    """Split fused tensors: `c_attn.weight` becomes `c_attn.query.weight` and so on. Nothing is copied."""
    parts = (part for name, tensor in tensors.items() for part in _parts(name, tensor, names, config))
    return by_name(parts, source)


def _parts(name: str, tensor: Tensor, names: Names, config: TransformerConfig) -> Iterator[tuple[str, Tensor]]:
    layer, _, leaf = name.rpartition(".")
    fused, axis = _fused(layer, names), _axis(name, tensor, names)
    widths = _widths(fused, tensor.shape[axis], config) if fused and tensor.shape else None
    if fused is None or widths is None:
        yield name, tensor
        return
    begin, groups = 0, _groups(fused, config)
    for part, width in zip(fused.parts, widths, strict=True):
        yield f"{layer}.{part}.{leaf}", _part(tensor, axis, begin, width, groups)
        begin += width


def _fused(layer: str, names: Names) -> Fused | None:
    return next((fused for fused in names.fused if re.fullmatch(fused.pattern, layer)), None)


def _axis(name: str, tensor: Tensor, names: Names) -> int:
    """Return the axis of the outputs: PyTorch's Linear keeps (output, input)."""
    is_output_first = len(tensor.shape) > 1 and not name.startswith(names.untransposed)
    return 0 if is_output_first else -1


def _widths(fused: Fused, total: int, config: TransformerConfig) -> Sequence[int] | None:
    """Return the number of outputs of each part; None if their sum is not the tensor's, which is then reported."""
    if fused.widths is not None:
        widths = tuple(fused.widths(config))
        return widths if sum(widths) == total else None
    width, rest = divmod(total, len(fused.parts))
    return None if rest else (width,) * len(fused.parts)


def _groups(fused: Fused, config: TransformerConfig) -> int:
    return 1 if fused.groups is None else fused.groups(config)


def _part(tensor: Tensor, axis: int, begin: int, width: int, groups: int) -> Tensor:
    def read() -> np.ndarray:
        if groups > 1:
            first = begin // groups
            whole = _grouped(tensor.read(), axis, groups)  # (groups, its outputs, ...)
            return _ungrouped(whole[:, first : first + width // groups], axis)
        return tensor.read()[begin : begin + width] if axis == 0 else tensor.read()[..., begin : begin + width]

    shape = (width, *tensor.shape[1:]) if axis == 0 else (*tensor.shape[:-1], width)
    return tensor._replace(shape=shape, read=read)


def _grouped(array: np.ndarray, axis: int, groups: int) -> np.ndarray:
    """Return the outputs of an array by group: (groups, outputs of a group, other axes)."""
    array = np.moveaxis(array, axis, 0)
    return array.reshape(groups, -1, *array.shape[1:])


def _ungrouped(array: np.ndarray, axis: int) -> np.ndarray:
    return np.moveaxis(array.reshape(-1, *array.shape[2:]), 0, axis)


def join(tensors: dict[str, Tensor], names: Names, config: TransformerConfig) -> dict[str, Tensor]:
    """Join what `split` has split; parts are joined when they are read."""
    if not names.fused:
        return tensors
    joined = {}
    for name, tensor in tensors.items():
        stem, _, leaf = name.rpartition(".")
        layer, _, part = stem.rpartition(".")
        fused = _fused(layer, names)
        if fused is None:
            joined[name] = tensor
        elif part == fused.parts[0]:
            parts = [tensors[f"{layer}.{part}.{leaf}"] for part in fused.parts]
            joined[f"{layer}.{leaf}"] = _joined(parts, _axis(name, tensor, names), _groups(fused, config))
    return joined


def _joined(parts: list[Tensor], axis: int, groups: int) -> Tensor:
    def read() -> np.ndarray:
        arrays = [part.read() for part in parts]
        if groups > 1:
            return _ungrouped(np.concatenate([_grouped(array, axis, groups) for array in arrays], axis=1), axis)
        return np.concatenate(arrays, axis=axis)

    total = sum(part.shape[axis] for part in parts)
    shape = (total, *parts[0].shape[1:]) if axis == 0 else (*parts[0].shape[:-1], total)
    return parts[0]._replace(shape=shape, read=read)


def reshape(tensors: dict[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Convert tensors to our shapes; nothing is read."""
    return tensors | {name: tensors[name].map(form.read) for name, form in names.reshaped.items() if name in tensors}


def reshape_back(tensors: dict[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Convert tensors back from our shapes to the shapes in the file."""
    return tensors | {name: tensors[name].map(form.write) for name, form in names.reshaped.items() if name in tensors}
