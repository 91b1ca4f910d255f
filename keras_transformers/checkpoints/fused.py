"""Fused tensors, which hold several of our layers side by side: GPT's query, key and value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_transformers.checkpoints.names.table import Names
from keras_transformers.checkpoints.tensors import Tensor, by_name


def split(tensors: dict[str, Tensor], names: Names, source: Any) -> dict[str, Tensor]:
    """Splits fused tensors: `c_attn.weight` becomes `c_attn.query.weight` and so on. Nothing is copied."""
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


def join(arrays: dict[str, np.ndarray], names: Names) -> dict[str, np.ndarray]:
    """The inverse of `split`, for arrays."""
    if names.fused is None:
        return arrays
    pattern, parts = names.fused
    joined = {}
    for name, array in arrays.items():
        stem, _, leaf = name.rpartition(".")
        layer, _, part = stem.rpartition(".")
        if not re.fullmatch(pattern, layer):
            joined[name] = array
        elif part == parts[0]:
            joined[f"{layer}.{leaf}"] = np.concatenate([arrays[f"{layer}.{part}.{leaf}"] for part in parts], axis=-1)
    return joined
