"""Tensors that are stored in another shape than ours: a bias of shape (1, V), positions after unused rows."""

from __future__ import annotations

import numpy as np

from keras_transformers.checkpoints.names.table import Names
from keras_transformers.checkpoints.tensors import Tensor


def reshape(tensors: dict[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Converts tensors to our shapes; nothing is read."""

    return tensors | {name: tensors[name].map(form.read) for name, form in names.reshaped.items() if name in tensors}


def reshape_back(arrays: dict[str, np.ndarray], names: Names) -> dict[str, np.ndarray]:
    """The inverse of `reshape`, for arrays."""
    return arrays | {name: form.write(arrays[name]) for name, form in names.reshaped.items() if name in arrays}
