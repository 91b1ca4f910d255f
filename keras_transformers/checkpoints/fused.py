"""Fused tensors, which hold several of our layers side by side: GPT's query, key and value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor, by_name
from keras_transformers.checkpoints.names.table import Names


def split(tensors: dict[str, Tensor], names: Names, source: Any) -> dict[str, Tensor]:
    """Split fused tensors: `c_attn.weight` becomes `c_attn.query.weight` and so on. Nothing is copied."""
    return by_name((part for name, tensor in tensors.items() for part in _parts(name, tensor, names)), source)


def _parts(name: str, tensor: Tensor, names: Names) -> Iterator[tuple[str, Tensor]]:
    pattern, parts = names.fused or ("", ())
    layer, _, leaf = name.rpartition(".")
    width, rest = divmod(tensor.shape[-1] if tensor.shape else 0, len(parts) or 1)
    if rest or not (parts and re.fullmatch(pattern, layer)):
        yield name, tensor
        return
    for index, part in enumerate(parts):
        yield f"{layer}.{part}.{leaf}", _part(tensor, index, width)


def _part(tensor: Tensor, index: int, width: int) -> Tensor:
    def read() -> np.ndarray:
        return tensor.read()[..., index * width : (index + 1) * width]  # (..., width)

    return tensor._replace(shape=(*tensor.shape[:-1], width), read=read)


def join(tensors: dict[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Join what `split` has split; parts are joined when they are read."""
    if names.fused is None:
        return tensors
    pattern, parts = names.fused
    joined = {}
    for name, tensor in tensors.items():
        stem, _, leaf = name.rpartition(".")
        layer, _, part = stem.rpartition(".")
        if not re.fullmatch(pattern, layer):
            joined[name] = tensor
        elif part == parts[0]:
            joined[f"{layer}.{leaf}"] = _joined([tensors[f"{layer}.{part}.{leaf}"] for part in parts])
    return joined


def _joined(parts: list[Tensor]) -> Tensor:
    shape = (*parts[0].shape[:-1], sum(part.shape[-1] for part in parts))
    return parts[0]._replace(shape=shape, read=lambda: np.concatenate([part.read() for part in parts], axis=-1))
