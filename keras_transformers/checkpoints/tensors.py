"""The tensors of a checkpoint folder, read only when needed."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import ml_dtypes  # noqa: F401 - teaches numpy bfloat16
import numpy as np
import safetensors

from keras_transformers.checkpoints.hub import PICKLED
from keras_transformers.checkpoints.pickled import read_pickled

INDEX = "model.safetensors.index.json"


class Tensor(NamedTuple):
    """A stored tensor: its name in the file, its shape, and a function that reads it."""

    name: str
    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]


def read_tensors(folder: Path, pickled: bool = False) -> list[Tensor]:
    """Lists what a folder's `model.safetensors` holds, or the files that its index names; the files stay mapped.

    Args:
        folder: A checkpoint folder.
        pickled: Whether `pytorch_model.bin` will do where there is no safetensors file.

    Returns:
        The tensors; nothing but the headers has been read.

    Raises:
        ValueError: There are no weights, a file is missing or damaged.
    """
    if (folder / "model.safetensors").is_file():
        return _open(folder / "model.safetensors")
    if (folder / INDEX).is_file():
        return _open_shards(folder)
    if pickled and (folder / PICKLED).is_file():
        arrays = read_pickled(folder / PICKLED)
        return [Tensor(name, array.shape, lambda array=array: array) for name, array in arrays.items()]
    remedy = (
        f" It holds {PICKLED}, an old format: ask for it with pickled=True." if (folder / PICKLED).is_file() else ""
    )
    raise ValueError(f"no weights in {folder}: expected model.safetensors or {INDEX}.{remedy}")


def _open(path: Path) -> list[Tensor]:
    try:
        file = safetensors.safe_open(path, framework="numpy")
        return [
            Tensor(name, tuple(file.get_slice(name).get_shape()), functools.partial(file.get_tensor, name))
            for name in file.keys()  # noqa: SIM118 - it is no dict
        ]
    except (safetensors.SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged or incomplete ({error}): fetch it again.") from error


def _open_shards(folder: Path) -> list[Tensor]:
    places = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
    files = sorted(set(places.values()))
    if missing := [name for name in files if Path(name).name != name or not (folder / name).is_file()]:
        raise ValueError(f"{folder / INDEX} names files that are not there: {missing}. Fetch them too.")
    tensors = [tensor for name in files for tensor in _open(folder / name)]
    if missing := sorted(set(places) - {tensor.name for tensor in tensors}):
        raise ValueError(f"{folder / INDEX} names tensors that its files do not hold: {missing}.")
    return tensors
