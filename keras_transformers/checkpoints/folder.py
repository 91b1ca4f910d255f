"""Write a folder whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_folder(folder: str | os.PathLike, marker: str = "config.json") -> Iterator[Path]:
    """Gives a temporary folder beside `folder` and, if nothing fails, puts it in its place.

    If writing is interrupted, the old folder is as it was.

    Args:
        folder: Where the files shall be.
        marker: A file by which an existing folder is known to be of the kind that may be replaced.

    Yields:
        The temporary folder.

    Raises:
        ValueError: `folder` holds something else already.

    Example:

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "model")
    >>> with atomic_folder(target) as temporary:
    ...     _ = (temporary / "config.json").write_text("{}")
    >>> [path.name for path in target.iterdir()]
    ['config.json']
    """
    check_target(folder, marker)
    target = Path(folder).resolve()
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        _replace(target, temporary)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_target(folder: str | os.PathLike, marker: str = "config.json") -> None:
    """Raises the `ValueError` of `atomic_folder`, if it would: before the work whose result shall be written."""
    target = Path(folder)
    if target.exists() and not (target / marker).is_file() and (target.is_file() or any(target.iterdir())):
        raise ValueError(f"{folder} exists and holds no {marker}, so it is not replaced. Give another folder.")


def _replace(target: Path, temporary: Path):
    if not target.exists():
        temporary.rename(target)
        return
    old = temporary.with_suffix(".old")
    target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)
