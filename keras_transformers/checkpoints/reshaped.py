"""Tensors that are stored in another shape than ours: a bias of shape (1, V), positions after unused rows."""

from __future__ import annotations

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.names.table import Names


def reshape(tensors: dict[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Convert tensors to our shapes; nothing is read."""
    return tensors | {name: tensors[name].map(form.read) for name, form in names.reshaped.items() if name in tensors}


def reshape_back(tensors: dict[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Convert tensors back from our shapes to those of the file."""
    return tensors | {name: tensors[name].map(form.write) for name, form in names.reshaped.items() if name in tensors}
