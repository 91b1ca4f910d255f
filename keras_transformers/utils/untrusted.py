"""Untrusted input: files are read whole, up to a size, and error messages show their values cut to a length."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import inspect
import os
import warnings
from pathlib import Path
from typing import Any

MOST_BYTES = 64 << 20  # maximum of a file that is read whole: 256,000 tokens with merges, of 130 bytes each, take half
POINTER = (
    b"version https://git-lfs.github.com/spec/"  # first bytes of the file that git lfs leaves in place of a large one
)
PAGES = (b"<!doctype html", b"<html")  # first bytes of a login or error page that was saved in place of a file
OURS = ("keras_transformers", "zoo")  # packages
MOST_LETTERS = 300  # characters of a value in an error message


def read_bytes(path: str | Path, expected: str = "a file", most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file, if it is a regular one and not too large: a pipe would never end, a device could
    neither.

    Args:
        path: Path of the file; links are followed, as the cache of `huggingface_hub` is made of them.
        expected: Description of the expected content, for the error message.
        most: Maximum size in bytes.

    Raises:
        ValueError: The file is missing, cannot be read, is too large, or is a pointer or a web page instead.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "vocab.txt")
    >>> _ = path.write_text("[PAD]")
    >>> read_bytes(path, "a vocab.txt")
    b'[PAD]'
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no {path.name} in {path.parent}: expected {expected}.")
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error}). Allow it, or give another folder.") from error
    check_is_itself(path, content[:64])
    if len(content) > most:
        raise ValueError(
            f"{path} has more than {most:,} bytes: expected {expected}, which is never that large. Fetch it again, "
            "from a source that you trust."
        )
    return content


def check_is_itself(path: Path, begin: bytes | None = None) -> None:
    """Raise a `ValueError` if a file is a pointer of git lfs, a web page, or not a regular file.

    Args:
        path: Path of the file.
        begin: The first 64 bytes; read from the file when None.

    Example:

    >>> check_is_itself(Path("vocab.txt"), b"[PAD]")
    >>> check_is_itself(Path("vocab.txt"), b"<!DOCTYPE html>")
    Traceback (most recent call last):
    ...
    ValueError: vocab.txt is a web page,... address of the file.
    """
    if begin is None:
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} is a folder, a pipe or a device: expected a regular file. Give another folder.")
        with path.open("rb") as file:
            begin = file.read(64)
    if begin.startswith(POINTER):
        raise ValueError(f"{path} is a pointer of git lfs, not the file. Run `git lfs pull` in the folder.")
    if begin.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(PAGES):
        raise ValueError(
            f"{path} is a web page, such as a login or an error page: expected the file. Fetch it again, from the "
            "address of the file."
        )


def check_file(path: str | Path) -> None:
    """Raise a `ValueError` if a file cannot be read; call it before long work.

    Raises:
        ValueError: There is no such file (the message has the nearest names), it is a folder, or may not be read.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "train.csv").write_text("text")
    >>> check_file(folder / "trian.csv")
    Traceback (most recent call last):
    ...
    ValueError: ...trian.csv: there is no such file. The nearest names there are ['train.csv'].
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: expected a file.")
    if not path.exists():
        raise ValueError(f"{path}: there is no such file.{nearest(path)}")
    if not path.is_file():
        raise ValueError(f"{path} is a pipe or a device: expected a regular file, which can be read more than once.")
    if not os.access(path, os.R_OK):
        raise ValueError(f"{path} may not be read. Change its permissions, or give another file.")


def nearest(path: str | Path) -> str:
    """Return a sentence with the names most like a path that does not exist, in its folder; empty if there are none."""
    path = Path(path)
    with contextlib.suppress(OSError):
        near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], cutoff=0.7)
        return f" The nearest names there are {near}." if near else ""
    return ""


def resolved(path: str | os.PathLike) -> Path:
    """Return the absolute path, links followed, of a file or folder that need not exist.

    Raises:
        ValueError: It is no valid path: a loop of links, a name that is too long or has a zero byte.

    Example:

    >>> resolved("/tmp/..") == Path("/")
    True
    """
    try:
        place = Path(path).resolve()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            place.stat()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"{shown(str(path))} is no path ({str(error)[:MOST_LETTERS]}). Give another one.") from error
    return place


def decoded(content: bytes, path: str | Path) -> str:
    """Return the text of a file in UTF-8.

    Raises:
        ValueError: It is in another encoding.

    Example:

    >>> decoded(b"[PAD]", "vocab.txt")
    '[PAD]'
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not valid UTF-8 ({error}). Fetch it again, or save it in UTF-8.") from error


def warn_user(message: str) -> None:
    """Warn with the location of the nearest caller outside this library."""
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def brief(record: Any) -> str:
    """Return the call that builds an equal dataclass: its class name and the fields that differ from their defaults.

    Example:

    >>> from keras_transformers.config.block_options import BlockOptions
    >>> brief(BlockOptions(attention_window=512))
    'BlockOptions(attention_window=512)'
    """
    arguments = []
    for field in dataclasses.fields(record):
        value, factory = getattr(record, field.name), field.default_factory
        if value != (field.default if factory is dataclasses.MISSING else factory()):
            arguments.append(f"{field.name}={value!r}")
    return f"{type(record).__name__}({', '.join(arguments)})"


def shown(value: Any) -> str:
    """Return the representation of a value for an error message, cut if it is long.

    Example:

    >>> shown("a"), len(shown("a" * 10**6)) < 400
    ("'a'", True)
    """
    text = repr(value)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}... ({len(text):,} letters)"


def names_of(folder: Path) -> list[str] | None:
    """Return the names of the files in a folder; None if it may not be listed, though its files may be read."""
    try:
        return os.listdir(folder) if os.path.isdir(folder) else []  # False for impossible names, too
    except PermissionError:
        return None
