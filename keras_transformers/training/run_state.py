"""The files of an interrupted run: each holds one state, whole or not at all."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

BROKEN = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)


def save(folder: Path, name: str, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Writes one file, whole or not at all, and removes all but the last two.

    Args:
        folder: Made if it is not there.
        name: Of the file; later states have names that sort behind.
        state: Plain values; arrays in it become lists.
        arrays: By name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "partial"
    # Of types that NumPy does not have, such as bfloat16, its files keep only the bytes.
    state = state | {"dtypes": {key: array.dtype.name for key, array in arrays.items() if array.dtype.kind == "V"}}
    with open(partial, "wb") as file:
        np.savez(file, state=np.array(to_json(state)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, folder / name)
    for old in _files(folder)[:-2]:
        old.unlink()


def load_latest(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Reads the last file that is whole (a zip file has a checksum for each array); None if there is none at all.

    Raises:
        ValueError: there are files, but none is whole.
    """
    files = _files(folder)
    for path in reversed(files):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                arrays = dict(arrays)
            state = json.loads(str(arrays.pop("state")))
            dtypes = state.pop("dtypes", {})
            return state, arrays | {key: arrays[key].view(np.dtype(name)) for key, name in dtypes.items()}
        except BROKEN as error:
            warnings.warn(f"{path} is damaged ({error}); trying the one before.", stacklevel=2)
    if files:
        raise ValueError(f"Received {folder} with damaged files only: {files}. Remove the folder to start anew.")
    return None


def to_json(value: Any) -> str:
    """JSON with numbers of NumPy as numbers, and arrays (a metric may have a value for each class) as lists.

    Example:

    >>> to_json({"f1": [np.array([0.5, 1.0])], "best": np.float32(2)})
    '{"f1": [[0.5, 1.0]], "best": 2.0}'
    """
    return json.dumps(value, default=lambda other: np.asarray(other).tolist())


def group(arrays: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    """The arrays `name/0`, `name/1` and so on."""
    count = sum(key.startswith(f"{name}/") for key in arrays)
    return [arrays[f"{name}/{index}"] for index in range(count)]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch-*.npz"))
