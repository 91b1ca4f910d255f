"""Tensors that hold several layers of ours side by side: GPT's queries, keys and values."""

from __future__ import annotations

import re

import numpy as np

from keras_transformers.checkpoints.names.table import Names
from keras_transformers.checkpoints.tensors import Tensor


def split(tensors: dict[str, Tensor], names: Names) -> dict[str, Tensor]:
    """The tensors, fused ones as their parts: `c_attn.query.weight`, ... for `c_attn.weight`; nothing is copied."""
    if names.fused is None:
        return tensors
    pattern, parts = names.fused
    found = {}
    for name, tensor in tensors.items():
        layer, _, leaf = name.rpartition(".")
        width, rest = divmod(tensor.shape[-1] if tensor.shape else 0, len(parts))
        if re.fullmatch(pattern, layer) and not rest:
            found |= {f"{layer}.{part}.{leaf}": _part(tensor, index, width) for index, part in enumerate(parts)}
        else:
            found[name] = tensor
    return found


def _part(tensor: Tensor, index: int, width: int) -> Tensor:
    def read() -> np.ndarray:
        return tensor.read()[..., index * width : (index + 1) * width]

    return Tensor(tensor.name, (*tensor.shape[:-1], width), read)


def join(arrays: dict[str, np.ndarray], names: Names) -> dict[str, np.ndarray]:
    """The inverse of `split`, of arrays."""
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
