"""The names in a pickle, which tell the program that wrote it."""

from __future__ import annotations

import io
import os
import pickletools
import zipfile
from pathlib import Path

MOST_PICKLE = 16 << 20  # bytes that are searched: the pickle of 100,000 tensors takes less
MOST_NAME = 200  # characters of a name


def names_in(path: str | os.PathLike) -> frozenset[str]:
    """Return the short strings and the classes that a pickle names, which tell the program that wrote it.

    Nothing of it is run. Of a file of `torch.save`, it is the pickle in it; what is no pickle has no names, or
    meaningless ones.

    Args:
        path: Path of a pickle, or of a file of `torch.save`.

    Example:

    >>> import pickle, tempfile
    >>> path = Path(tempfile.mkdtemp(), "meta.pkl")
    >>> _ = path.write_bytes(pickle.dumps({"stoi": {}}))
    >>> sorted(names_in(path))
    ['stoi']
    """
    names: set[str] = set()
    try:
        stream = io.BytesIO(_pickle_in(Path(path)))
        while stream.read(1):  # of one pickle after another
            stream.seek(-1, io.SEEK_CUR)
            for code, value, _ in pickletools.genops(stream):
                if isinstance(value, str) and len(value) <= MOST_NAME:
                    names.add(value.replace(" ", ".") if code.name in ("GLOBAL", "INST") else value)
    except Exception:  # the end of the pickles, or of what can be read
        pass
    return frozenset(names)


def _pickle_in(path: Path) -> bytes:
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            return file.read(MOST_PICKLE)
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        with archive.open(name) as member:
            return member.read(MOST_PICKLE)
