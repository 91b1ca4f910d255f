"""The files of a resumable run: each holds one complete state."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

DAMAGED = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)


def save(folder: Path, name: str, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Writes one state atomically, and removes all files but the last two.

    Args:
        folder: Created if it does not exist.
        name: The file name. Names must sort in the order of the states.
        state: Plain values; arrays among them are saved as lists.
        arrays: Arrays by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "partial"
    # NumPy's files keep the bytes but not the name of a dtype that is not NumPy's, such as bfloat16.
    state = state | {"dtypes": {key: array.dtype.name for key, array in arrays.items() if array.dtype.kind == "V"}}
    try:
        with open(partial, "wb") as file:
            np.savez(file, state=np.array(to_json(state)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, folder / name)
    except OSError:
        partial.unlink(missing_ok=True)  # on a full disk, it takes the place of the next one
        raise
    for old in _files(folder)[:-2]:
        old.unlink()


def load_latest(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Reads the last file that is not damaged; None if there is no file. Each array has a checksum.

    Raises:
        ValueError: All files are damaged.
    """
    files = _files(folder)
    for path in reversed(files):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                arrays = dict(arrays)
            state = json.loads(str(arrays.pop("state")))
            dtypes = state.pop("dtypes", {})
            return state, arrays | {key: arrays[key].view(np.dtype(name)) for key, name in dtypes.items()}
        except DAMAGED as error:
            warnings.warn(f"{path} is damaged ({error}); trying the one before.", stacklevel=2)
    if files:
        raise ValueError(f"Received {folder} with damaged files only: {files}. Remove the folder to start anew.")
    return None


def to_json(value: Any) -> str:
    """JSON, with NumPy numbers as numbers and arrays (such as a metric's values per class) as lists.

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
