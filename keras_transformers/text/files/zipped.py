"""The files in a .zip, which is read like a folder: `a.zip/notes/b.txt` is the path of one of them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
# What macOS adds, what is hidden, and what tells about the data.
TELLING = r"_*(?:readme|licen[cs]e|copying|about)(?:\.\w+)?"
LEFT_OUT = re.compile(rf"(?:.*/)?(?:__MACOSX/.*|\.[^/.][^/]*(?:/.*)?|{TELLING})", re.IGNORECASE)
MOST_FILES = 1_000  # the table of contents is read again for each


def archive_of(path: Path) -> Path | None:
    """Return the .zip that a path goes through, if any.

    >>> archive_of(Path("notes/a.txt")) is None
    True
    """
    return next((one for one in path.parents if one.suffix.lower() == ".zip" and one.is_file()), None)


def parts_of(path: Path) -> tuple[Path, ...]:
    """Return the paths of the files in a .zip with several, in the order of their names; of any other file, itself.

    Args:
        path: A file. What is hidden, or named README, LICENSE, COPYING or about, is no part of a .zip that has others.

    Raises:
        ValueError: The .zip is damaged, has no file or more than `MOST_FILES`, or two of one name.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.zip")
    >>> with zipfile.ZipFile(path, "w") as archive:
    ...     for name in ("b.txt", "a.txt", "README", "__MACOSX/._a.txt"):
    ...         archive.writestr(name, "text")
    >>> [str(part.relative_to(path)) for part in parts_of(path)]
    ['a.txt', 'b.txt']
    """
    if path.suffix.lower() != ".zip":
        return (path,)
    files = _paths(path)
    return (path,) if len(files) == 1 else tuple(files)


def one_file(path: Path) -> Path:
    """Return the path of the one file in a .zip.

    Raises:
        ValueError: It has several; or as from `parts_of`.
    """
    files = _paths(path)
    if len(files) > 1:
        names = ", ".join(repr(str(file.relative_to(path))[:100]) for file in files[:10])
        raise ValueError(
            f"{path} has {len(files):,} files ({names}{', ...' if files[10:] else ''}): expected one. Unpack it, and "
            f"give one of them: unzip {path.name}."
        )
    return files[0]


@contextmanager
def opened(path: Path, raw: BinaryIO) -> Iterator[IO[bytes]]:
    """Open a file in a .zip.

    Args:
        path: Path of the file; or of the .zip, if it has one file.
        raw: The .zip.
    """
    outer = archive_of(path)
    with zipfile.ZipFile(raw) as archive:
        files = _files(outer or path, archive)
        found = files.get(path) if outer else next(iter(files.values()))
        if found is None:
            raise ValueError(f"{path} is not in the .zip any more: bring it back, and call again.")
        if found.flag_bits & 1 or found.compress_type not in METHODS:
            raise ValueError(f"{path} is encrypted, or compressed in an unusual way: unpack it, and give its file.")
        with archive.open(found) as file:
            yield file


def unreadable(path: Path, error: OSError) -> ValueError:
    """Return the error for a file that the system cannot read."""
    return ValueError(f"{path} cannot be read ({error.strerror}). It was there before: bring it back, and call again.")


def _paths(path: Path) -> list[Path]:
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
            return sorted(_files(path, archive))
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: the .zip is damaged or cut short ({error}). Fetch it again.") from None
    except OSError as error:
        raise unreadable(path, error) from error


def _files(path: Path, archive: zipfile.ZipFile) -> dict[Path, zipfile.ZipInfo]:
    """Return the files of an archive by their paths, without those that are no part of the data."""
    every = [file for file in archive.infolist() if not file.is_dir()]
    some = [file for file in every if not LEFT_OUT.fullmatch(file.filename)] or every
    files = {Path(f"{path}/{file.filename}"): file for file in some}
    if not files or len(files) < len(some) or len(files) > MOST_FILES:
        what = "two files of one name" if 0 < len(files) < len(some) else f"{len(files):,} files"
        raise ValueError(
            f"{path} has {what}: expected 1 to {MOST_FILES:,}, of different names. Unpack it, and give the folder."
        )
    return files
