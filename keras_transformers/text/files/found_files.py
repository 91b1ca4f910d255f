"""The files named by paths, folders and patterns."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_transformers.text.files.records import is_table
from keras_transformers.text.files.zipped import TELLING
from keras_transformers.utils.untrusted import check_file, nearest, warn_user

# What Spark, Dask and Delta Lake keep about the tables of a folder.
ABOUT = re.compile(r"_(?:SUCCESS|(?:common_)?metadata|spark_metadata|delta_log|temporary|(?:started|committed)_\d+)")

TELLING_NAME = re.compile(TELLING, re.IGNORECASE)

Paths = str | os.PathLike | Sequence[str | os.PathLike]


def find_text_files(paths: Paths, without: Sequence[str | os.PathLike] = ()) -> tuple[Path, ...]:
    """Return the files that paths, folders and patterns name, sorted, each once.

    Args:
        paths: One or several of: a file; a folder, for every file below it whose path has no hidden part, without what
            Spark notes about its tables, such as `_metadata`; a pattern such as `texts/**/*.txt`. What tells about the
            data set in a folder is left out with a warning.
        without: Folders that are left out where a folder or a pattern is searched, such as one that is written.

    Raises:
        ValueError: There is no such file, none in a folder, none that matches a pattern, or one may not be read.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "one.txt").write_text("One."), (folder / "two.txt").write_text("Two.")
    >>> [path.name for path in find_text_files([folder / "two.txt", folder])]
    ['one.txt', 'two.txt']
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if wrong := [path for path in given if not isinstance(path, (str, os.PathLike)) or not str(path)]:
        raise ValueError(f"Received {wrong[0]!r} as a path of texts: expected a file, a folder or a pattern.")
    if not given:
        raise ValueError("Received no path of texts: expected at least one file, folder or pattern.")
    found: dict[Path, Path] = {}
    left_out = [Path(folder).resolve() for folder in without]
    for path in sorted(file for one in given for file in _files_of(str(one), left_out)):
        found.setdefault(path.resolve(), path)
    for path in found.values():
        check_file(path)
    return tuple(found.values())


def _files_of(path: str, left_out: Sequence[Path]) -> Iterator[Path]:
    place = Path(path)
    if place.is_dir():
        files = [file for file in place.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(place))]
        files = _without_telling([file for file in files if not _lies_in(file, left_out)])
        if not files:
            raise ValueError(f"{path} is a folder without files: expected texts in it. Give another folder.")
        yield from files
    elif not os.path.lexists(place) and glob.has_magic(path):
        files = [file for file in map(Path, glob.glob(path, recursive=True)) if file.is_file()]
        files = _without_telling([file for file in files if not _lies_in(file, left_out)])
        if not files:
            raise ValueError(f"{path}: no file matches this pattern. Give a folder, or a pattern that matches.")
        yield from files
    elif not place.exists():
        raise ValueError(f"{path}: there is no such file or folder.{nearest(place)}")
    else:
        yield place


def _without_telling(files: list[Path]) -> list[Path]:
    """Leave out, with a warning, what tells about a data set: its README and licence, as of a .zip.

    It is one if there are tables, or if the README begins as a card of the hub does. Other folders may be about
    anything, so that a README is one of their texts.
    """
    telling = [file for file in files if TELLING_NAME.fullmatch(file.name)]
    others = [file for file in files if file not in telling]
    if not (telling and others and (any(map(is_table, others)) or any(map(_is_card, telling)))):
        return files
    names = ", ".join(map(str, telling[:5]))
    warn_user(
        f"{names}{', ...' if telling[5:] else ''} tell about the data beside them, and are not read as texts. To read "
        "one, give its path."
    )
    return others


def _is_card(file: Path) -> bool:
    check_file(file)
    with file.open("rb") as opened:
        return opened.read(4) in (b"---\n", b"---\r")


def _lies_in(file: Path, folders: Sequence[Path]) -> bool:
    return bool(folders) and any(folder in file.resolve().parents for folder in folders)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or ABOUT.fullmatch(part) for part in path.parts)
