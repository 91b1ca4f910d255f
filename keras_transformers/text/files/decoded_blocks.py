"""The text of one file, decoded block by block, with the place of what is no text."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from keras_transformers.utils.untrusted import shown

BLOCK = 1 << 20  # bytes
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def check_encoding(encoding: str) -> str:
    """Return the name that Python has for an encoding; raise a `ValueError` if it has none."""
    try:
        " ".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"Received encoding={shown(encoding)}: expected an encoding of Python, such as 'utf-8' or 'latin-1'."
        ) from None


def decoded_blocks(path: Path, encoding: str) -> Iterator[str]:
    """Yield the text of a file, in blocks of about a mebibyte; line ends stay as they are.

    Args:
        path: A file; one named `.gz` is decompressed.
        encoding: Name of its encoding, from `check_encoding`. A byte order mark of UTF-8 is left out.

    Raises:
        ValueError: The bytes are of another encoding, or none of text, or the `.gz` is damaged. The message has the
            line and the byte.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "fox.txt")
    >>> _ = path.write_bytes(b"The fox\\r\\n")
    >>> list(decoded_blocks(path, "utf-8"))
    ['The fox\\r\\n']
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    line, position = 1, 0
    for block in _byte_blocks(path):
        if not position and encoding == "utf-8":
            _check_mark(path, block)
            position = 3 * block.startswith(codecs.BOM_UTF8)
            block = block[position:]
        pending = decoder.getstate()[0]
        try:
            text = decoder.decode(block)
        except UnicodeDecodeError as error:
            raise _other_encoding(path, encoding, error, line, position - len(pending)) from None
        if "\0" in text:
            raise _binary(path, line + text.count("\n", 0, text.index("\0")))
        line, position = line + text.count("\n"), position + len(block)
        if text:
            yield text
    pending = decoder.getstate()[0]
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise _other_encoding(path, encoding, error, line, position - len(pending)) from None


def _byte_blocks(path: Path) -> Iterator[bytes]:
    is_packed = path.suffix.lower() == ".gz"
    with _opened(path) as raw:
        file: BinaryIO = gzip.GzipFile(fileobj=raw) if is_packed else raw  # type: ignore[assignment]
        while True:
            try:
                block = file.read(BLOCK)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise ValueError(
                    f"{path}, after byte {raw.tell():,}: the .gz is damaged or cut short ({error}). Fetch it again; "
                    "`gzip -t` tests it."
                ) from None
            except OSError as error:
                raise _unreadable(path, error) from error
            if not block:
                return
            yield block


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ValueError:
    return ValueError(f"{path} cannot be read ({error.strerror}). It was there before: bring it back, and call again.")


def _check_mark(path: Path, block: bytes) -> None:
    if name := MARKS.get(block[:2]):
        raise ValueError(
            f"{path} begins with a byte order mark of UTF-16: expected UTF-8. Say encoding={name!r}, or convert the "
            f"file: iconv -f UTF-16 -t UTF-8 {path.name}."
        )


def _other_encoding(path: Path, encoding: str, error: UnicodeDecodeError, line: int, begin: int) -> ValueError:
    line += error.object.count(b"\n", 0, error.start)
    bad = error.object[error.start : error.start + 1].hex()
    return ValueError(
        f"{path}, line {line:,}, byte {begin + error.start:,}: 0x{bad} is no text in {encoding} ({error.reason}). "
        f"Say encoding=, such as 'latin-1' or 'cp1252' (--encoding), or convert the file: "
        f"iconv -f LATIN1 -t UTF-8 {path.name}."
    )


def _binary(path: Path, line: int) -> ValueError:
    return ValueError(
        f"{path}, line {line:,}: a zero byte, so it is a binary file, or one in UTF-16: expected text. Leave it out "
        "(a pattern such as 'texts/*.txt' chooses files), or say encoding='utf-16-le'."
    )
