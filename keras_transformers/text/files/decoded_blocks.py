"""The text of one file, decoded block by block, with the place of what is no text."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from keras_transformers.text.files.other_encodings import (
    encodings_of,
    escapes_hint,
    fitting_hint,
    hint,
    zero_bytes_hint,
)
from keras_transformers.text.files.packed import BLOCK, byte_blocks
from keras_transformers.utils.untrusted import shown

MOST_LETTERS_OF_LINE = 64 << 20  # a row of a table, or a line of JSON, is read whole
MOST_REPLACED = 0.1  # of the characters of a block
ESCAPE = re.compile(r"\x1b\$(?:[@AB]|\([CD]|\)[AC])")  # begins two-byte characters in ISO-2022, which is ASCII
ERRORS = ("strict", "replace")
MARKS = {  # byte order marks, the longer ones first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8",
}


def check_encoding(encoding: str) -> str:
    """Return the name that Python has for an encoding; raise a `ValueError` if it has none."""
    try:
        " ".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"Received encoding={shown(encoding)}: expected an encoding of Python, such as 'utf-8' or 'cp1252'."
        ) from None


def check_errors(errors: str) -> str:
    """Return `errors` if it is one of `ERRORS`; raise a `ValueError` if not."""
    if errors not in ERRORS:
        raise ValueError(
            f"Received errors={shown(errors)}: expected 'strict', which raises an error for bytes that cannot be "
            "decoded, or 'replace', which inserts U+FFFD."
        )
    return errors


def decoded_blocks(path: Path, encoding: str, errors: str = "strict") -> Iterator[str]:
    """Yield the text of a file, in blocks of about a mebibyte. Line ends stay as they are, except old Mac ones:
    carriage returns become line feeds in a file that begins with lines of these alone.

    Args:
        path: A file, which may be compressed: see `byte_blocks`.
        encoding: Name of its encoding, from `check_encoding`. A byte order mark is left out.
        errors: `"strict"`, or `"replace"` to put U+FFFD in place of bytes that are no text.

    Raises:
        ValueError: The bytes are of another encoding, or none of text, or a compressed file is damaged. The message
            has the line and the byte, and the encodings that decode the whole file.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "fox.txt")
    >>> _ = path.write_bytes(b"The fox\\r\\n")
    >>> list(decoded_blocks(path, "utf-8"))
    ['The fox\\r\\n']
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    line, position, begins, is_old = 1, 0, True, False
    for block in chain(byte_blocks(path, BLOCK), (b"",)):
        if not position:
            _check_mark(path, encoding, block)
        pending, bad = decoder.getstate()[0], None
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            bad, text = error, error.object[: error.start].decode("utf-8") if encoding == "utf-8" else ""
        except UnicodeError as error:  # of UTF-16 without a byte order mark
            raise ValueError(f"{path} cannot be decoded as {encoding} ({error}). {fitting_hint(path)}") from None
        if "\x1b$" in text and (mark := ESCAPE.search(text)):
            raise _escaped(path, encoding, line + text.count("\n", 0, mark.start()))
        if begins:
            is_old = "\r" in text[:-1] and "\n" not in text
        text = text.replace("\r", "\n") if is_old else text
        if "\0" in text:
            raise _binary(path, encoding, line + text.count("\n", 0, text.index("\0")))
        if errors == "replace":
            _check_replaced(path, encoding, text)
        if shown_text := text.removeprefix("\ufeff") if begins else text:
            yield shown_text
        if bad is not None:
            raise _no_text(path, encoding, bad, line, position - len(pending))
        position, line, begins = position + len(block), line + text.count("\n"), begins and not text


def lines_of(path: Path, encoding: str, errors: str = "strict", ends: str = "\n") -> Iterator[str]:
    """Yield the lines of a file with their ends; the last one may have none.

    Args:
        path, encoding, errors: As for `decoded_blocks`.
        ends: Line ends: `"\\n"`, or `""` for `"\\n"`, `"\\r"` and `"\\r\\n"`.

    Raises:
        ValueError: As for `decoded_blocks`; or a line has more than `MOST_LETTERS_OF_LINE` characters.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "fox.txt")
    >>> _ = path.write_bytes(b"The fox\\rran\\n")
    >>> list(lines_of(path, "utf-8")), list(lines_of(path, "utf-8", ends=""))
    (['The fox\\rran\\n'], ['The fox\\r', 'ran\\n'])
    """
    number, rest, size = 1, list[str](), 0  # the rest is joined once, when its line ends
    for block in decoded_blocks(path, encoding, errors):
        rest.append(block)
        size += len(block)
        if "\n" in block or (not ends and "\r" in block):
            lines = list(io.StringIO("".join(rest), newline=ends))
            rest = [] if lines[-1].endswith("\n") else [lines.pop()]  # a line feed may follow the carriage return
            size = sum(map(len, rest))
            yield from lines
            number += len(lines)
        if size > MOST_LETTERS_OF_LINE:
            raise ValueError(
                f"{path}, line {number:,}: more than {MOST_LETTERS_OF_LINE:,} characters, which is too long for one "
                "record. Split it, or save the text as .txt, which is read piece by piece."
            )
    yield from io.StringIO("".join(rest), newline=ends)


def _check_mark(path: Path, encoding: str, block: bytes) -> None:
    name = next((name for mark, name in MARKS.items() if block.startswith(mark)), None)
    if name is None or encoding.replace("_", "-").startswith(name) or encoding == "gb18030":
        return
    raise ValueError(
        f"{path} begins with a byte order mark of {name.upper()}: expected {encoding}. Say encoding={name!r}, "
        f"or convert the file: iconv -f {name.upper()} -t UTF-8 {path.name}."
    )


def _no_text(path: Path, encoding: str, error: UnicodeDecodeError, line: int, begin: int) -> ValueError:
    line += error.object.count(b"\n", 0, error.start)
    bad = error.object[error.start : error.start + 1].hex()
    around = error.object[max(error.start - 20, error.object.rfind(b"\n", 0, error.start) + 1) :][:60]
    return ValueError(
        f"{path}, line {line:,}, byte {begin + error.start:,}: 0x{bad} cannot be decoded as {encoding} "
        f"({error.reason}). {hint(path, encoding, around)}"
    )


def _binary(path: Path, encoding: str, line: int) -> ValueError:
    return ValueError(
        f"{path}, line {line:,}: a zero byte, so it is a binary file, or one in UTF-16: expected text. "
        + zero_bytes_hint(path, encoding)
    )


def _escaped(path: Path, encoding: str, line: int) -> ValueError:
    return ValueError(
        f"{path}, line {line:,}: an escape sequence of ISO-2022, which cannot be decoded as {encoding}. "
        + escapes_hint(path)
    )


def _check_replaced(path: Path, encoding: str, text: str) -> None:
    """Refuse text that is of another encoding, most of which would be lost."""
    if (count := text.count("\ufffd")) > MOST_REPLACED * len(text) and count > 1:
        found = ", ".join(map(repr, encodings_of(path, encoding))) or "none of the usual ones"
        raise ValueError(
            f"{path}: {count:,} of {len(text):,} characters cannot be decoded as {encoding}, too many to replace. "
            f"Encodings that decode the whole file: {found}. Say encoding=."
        )
