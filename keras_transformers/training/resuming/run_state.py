"""The files of a resumable run: each holds one complete state."""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from keras_transformers.utils.untrusted import MOST_LETTERS, shown

# The errors of zipfile, zlib, NumPy and json for a damaged file.
DAMAGED = (OSError, EOFError, LookupError, ValueError, TypeError, AttributeError, NotImplementedError, RecursionError,
           RuntimeError, SyntaxError, OverflowError, struct.error, zipfile.BadZipFile, zlib.error)  # fmt: skip
# The values of a state that are always there, and their types.
VALUES = {"epoch": int, "batch": int, "stopped": bool, "callbacks": list, "history": dict, "epochs": list}


def save(folder: Path, name: str, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write one state atomically, and remove all files but the last two.

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
    members: dict[str, Any] = {"state": np.array(to_json(state)), **arrays}
    try:
        with open(partial, "wb") as file:
            np.savez(file, **members)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, folder / name)
    except OSError:
        partial.unlink(missing_ok=True)  # on a full disk, it takes the place of the next one
        raise
    with contextlib.suppress(OSError):  # an old one that stays does no harm
        for old in _files(folder)[:-2]:
            old.unlink()


def load_latest(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Read the last file that is not damaged; None if there is no file. Each array has a checksum.

    Raises:
        ValueError: All files are damaged.
    """
    files = _files(folder)
    for path in reversed(files):
        try:
            return _read(path)
        except DAMAGED as error:
            warnings.warn(f"{path} is damaged ({str(error)[:MOST_LETTERS]}); trying the one before.", stacklevel=2)
    if files:
        names = [path.name for path in files]
        raise ValueError(f"Received {folder} with damaged files only: {shown(names)}. Remove the folder to start anew.")
    return None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    _check_sizes(path)
    with np.load(path, allow_pickle=False) as arrays:
        arrays = dict(arrays)
    state = json.loads(str(arrays.pop("state")))
    dtypes = state.pop("dtypes", {})
    return state, arrays | {key: arrays[key].view(np.dtype(name)) for key, name in dtypes.items()}


def _check_sizes(path: Path) -> None:
    """Refuse a file whose arrays would take more memory than the file has bytes: NumPy allocates what it is told."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed, and a state never is")
        if sum(member.file_size for member in members) > path.stat().st_size:
            raise ValueError("its members are larger than the file")
        for member in members:
            with archive.open(member) as file:
                _check_header(file, member.file_size)


def _check_header(file: IO[bytes], size: int) -> None:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize + file.tell() != size:
        raise ValueError(f"an array of shape {shape} does not have the size of its shape")


def check_values(folder: Path, state: dict[str, Any], callbacks: int) -> None:
    """Raise a `ValueError` if the plain values of a state are not as `Resume` saves them for this many callbacks."""
    wrong = [key for key, kind in VALUES.items() if type(state.get(key)) is not kind]
    wrong += [key for key in ("epoch", "batch") if key not in wrong and state[key] < 0]
    wrong += [] if isinstance(state.get("run", {}), dict) else ["run"]
    if not wrong and not all(isinstance(values, list) for values in state["history"].values()):
        wrong = ["history"]
    if not wrong and not all(isinstance(progress, dict) for progress in state["callbacks"]):
        wrong = ["callbacks"]
    if wrong:
        raise ValueError(
            f"the state in {folder} has no {wrong} as `Resume` saves them. Remove the folder to start anew."
        )
    if len(state["callbacks"]) != callbacks:
        raise ValueError(
            f"the state in {folder} has {len(state['callbacks'])} callbacks, and `Resume` was given {callbacks}: "
            "expected the callbacks that the run was started with."
        )


def to_json(value: Any) -> str:
    """Return JSON, with NumPy numbers as numbers and arrays (such as a metric's values per class) as lists.

    Example:

    >>> to_json({"f1": [np.array([0.5, 1.0])], "best": np.float32(2)})
    '{"f1": [[0.5, 1.0]], "best": 2.0}'
    """
    return json.dumps(value, default=lambda other: np.asarray(other).tolist())


def group(arrays: Mapping[str, np.ndarray], name: str) -> list[np.ndarray]:
    """Return the arrays `name/0`, `name/1` and so on."""
    keys = [f"{name}/{index}" for index in range(sum(key.startswith(f"{name}/") for key in arrays))]
    if missing := [key for key in keys if key not in arrays]:
        raise ValueError(f"the state of a run lacks the arrays {missing[:5]}: it is damaged. Remove its file.")
    return [arrays[key] for key in keys]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("epoch-*.npz") if path.is_file())
