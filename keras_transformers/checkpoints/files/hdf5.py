"""The tensors of an HDF5 file, whose values are read later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.utils.untrusted import MOST_LETTERS, check_is_itself, shown


def read_hdf5(path: Path, name_of: Callable[[str], str] = str) -> list[Tensor]:
    """List the tensors of an HDF5 file.

    Args:
        path: Path of the file.
        name_of: Function from a data set's path in the file to the tensor's name.

    Returns:
        The tensors, in the order of the file.

    Raises:
        ValueError: The file is missing or damaged, or has values in another file, or compressed.
    """
    tensors = []

    def add(name: str | bytes, item: Any) -> None:  # not called for links
        if isinstance(name, bytes):
            raise OSError("a name in it is not valid UTF-8")
        if isinstance(item, h5py.Dataset):
            tensors.append(_describe(path, name_of(name), item))

    try:
        check_is_itself(path)
        file = h5py.File(path)
        file.visititems(add)
    except (OSError, RuntimeError, KeyError, AttributeError, UnicodeError) as error:  # but for the first, h5py's
        raise ValueError(f"{path} is missing or damaged ({str(error)[:MOST_LETTERS]}): fetch it again.") from error
    return tensors


def _describe(path: Path, name: str, item: h5py.Dataset) -> Tensor:
    _check_inside(path, name, item)
    # HDF5 has no bfloat16: Keras stores the bytes, and the dtype as an attribute
    is_bfloat16 = item.dtype == "V2" and item.attrs.get("dtype") == "bfloat16"
    dtype = np.dtype("bfloat16") if is_bfloat16 else item.dtype
    return Tensor(name, item.shape, dtype.name, lambda: np.asarray(item).view(dtype))


def _check_inside(path: Path, name: str, item: h5py.Dataset) -> None:
    """Refuse data sets whose values are in another file of this machine, or not stored in one piece."""
    if item.external or item.is_virtual:
        raise ValueError(
            f"{path}: {shown(name)} has its values in another file: it may be malicious. Get it from elsewhere."
        )
    begin = item.id.get_offset()
    if item.size != 0 and (begin is None or begin + item.nbytes > path.stat().st_size):
        raise ValueError(
            f"{path}: {shown(name)} does not lie in the file in one piece, as Keras writes it. Save the model again "
            "with Keras, if you trust it."
        )
