"""The text of files of any size: a file, many, a folder or a pattern, read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from keras_transformers.text.files.decoded_blocks import check_encoding, decoded_blocks
from keras_transformers.text.files.found_files import Paths, find_text_files
from keras_transformers.text.files.records import json_texts, open_parquet, parquet_texts
from keras_transformers.utils.number_checks import is_size

PIECE = 16384  # characters of a piece when iterating
JSON_LINES, PARQUET = (".jsonl", ".ndjson"), ".parquet"
PACKED = (".gz", PARQUET)  # endings of files that may be smaller than their text


class Section(NamedTuple):
    """A part of a document: `text`, its `file`, the `line` (row, in Parquet) that it begins in, and whether it is the
    document's last one.
    """

    text: str
    file: Path
    line: int
    ends_document: bool


class TextFiles:
    """The text of files, read piece by piece, in flat memory, as often as one likes.

    The ending decides how a file is read: `.jsonl` and `.ndjson` have one JSON object a line, `.parquet` has columns,
    anything else is plain text; a `.gz` after the ending is decompressed. A plain text file is one document, a record
    of the others is one.

    Args:
        paths: One or several of: a file, a folder (every file below it that is not hidden), a pattern such as
            `texts/**/*.txt`.
        field: The key (JSON lines) or column (Parquet) of the text.
        encoding: Of plain text and JSON lines. A byte order mark of UTF-8 is left out.
        without: Folders that are left out where a folder or a pattern is searched, such as one that is written.

    Attributes:
        files: tuple of `pathlib.Path`, sorted, each once.
        size: int, bytes of these files as they are stored.
        text_size: int, about the size of their text, of compressed ones too.
        field, encoding: As given.

    Raises:
        ValueError: No such file, nothing in a folder or that matches a pattern, an unknown encoding, only empty files,
            no such column; and, when that place is read: bytes that are no text in this encoding, a damaged file, a
            record without text. The message has the file and the line.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("The cat sat.\\n")
    >>> _ = (folder / "b.jsonl").write_text('{"text": "A dog ran."}\\n')
    >>> list(TextFiles(folder))
    ['The cat sat.\\n', 'A dog ran.']
    """

    def __init__(
        self, paths: Paths, *, field: str = "text", encoding: str = "utf-8", without: Sequence[str | os.PathLike] = ()
    ):
        if not isinstance(field, str) or not field:
            raise ValueError(f"Received field={field!r}: expected the name of a key or a column, such as 'text'.")
        self.encoding = check_encoding(encoding)
        self.files, self.field = find_text_files(paths, without), field
        self.size = sum(path.stat().st_size for path in self.files)
        if not self.size:
            raise ValueError(f"{_named(self.files)} without a byte: expected some text. Give other files.")
        for path in self.files:
            self._check(path)

    @cached_property
    def text_size(self) -> int:
        """About the size of the text: the bytes of plain files, and the characters in those that are compressed, which
        are read for it, once.
        """
        packed = [path for path in self.files if is_packed(path)]
        stored = self.size - sum(path.stat().st_size for path in packed)
        return stored + sum(len(text) for path in packed for _, blocks in self._documents(path) for text in blocks)

    def __iter__(self) -> Iterator[str]:
        """Yield the text in pieces, line ends kept, documents apart, cut at blank lines or line ends if possible."""
        for section in self.sections(PIECE):
            yield section.text

    def sections(self, size: int) -> Iterator[Section]:
        """Yield the text in sections of at most `size` characters.

        They are cut at the last blank line in their second half, or else at the last line end there, or else before
        the last space, or else anywhere. Together they are the whole text; where they are cut depends on the text and
        `size` alone.

        Args:
            size: int, characters.

        Yields:
            `Section(text, file, line, ends_document)`.

        Raises:
            ValueError: `size` is not positive, or a file cannot be read: see the class; or all documents are empty.
        """
        if not is_size(size):
            raise ValueError(f"Received size={size!r}: expected a whole number of characters, at least 1.")
        is_empty = True
        for path in self.files:
            for line, blocks in self._documents(path):
                for section in _cut(blocks, path, line, size):
                    is_empty = False
                    yield section
        if is_empty:
            raise ValueError(f"{_named(self.files)} without text: expected some. Give other files.")

    def _documents(self, path: Path) -> Iterator[tuple[int, Iterator[str]]]:
        """Yield the line and the text, in blocks, of each document."""
        kind = _kind(path)
        if kind == PARQUET:
            yield from ((row, iter([text])) for row, text in parquet_texts(path, self.field))
        elif kind in JSON_LINES:
            yield from ((line, iter([text])) for line, text in json_texts(path, self.encoding, self.field))
        else:
            yield 1, decoded_blocks(path, self.encoding)

    def _check(self, path: Path) -> None:
        """Refuse, before any work, what the begin of a file shows."""
        if _kind(path) != PARQUET:
            next((next(blocks, None) for _, blocks in self._documents(path)), None)
        elif path.suffix.lower() == ".gz":
            raise ValueError(f"{path}: Parquet is compressed in itself. Unpack the .gz first: gunzip {path.name}.")
        else:
            open_parquet(path, self.field).close()


def is_packed(path: Path) -> bool:
    """Return whether a file may be smaller than its text.

    >>> is_packed(Path("a.txt.GZ")), is_packed(Path("a.jsonl"))
    (True, False)
    """
    return path.suffix.lower() in PACKED


def _kind(path: Path) -> str:
    """Return the ending of a file before `.gz`."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()


def _named(files: tuple[Path, ...]) -> str:
    return f"{files[0]} is" if len(files) == 1 else f"All {len(files)} files, such as {files[0]}, are"


def _cut(blocks: Iterator[str], path: Path, line: int, size: int) -> Iterator[Section]:
    """Yield the sections of one document."""
    text, begin, numbered = "", 0, _kind(path) not in (*JSON_LINES, PARQUET)
    for block in blocks:
        text, begin = text[begin:] + block, 0
        while len(text) - begin > size:  # the last section is yielded below, as the document's last one
            end = _place_to_cut(text, begin, begin + size)
            yield Section(text[begin:end], path, line, False)
            line += numbered and text.count("\n", begin, end)
            begin = end
    if text[begin:]:
        yield Section(text[begin:], path, line, True)


def _place_to_cut(text: str, begin: int, end: int) -> int:
    """Return where a section of a longer text ends: after `begin`, at most at `end`."""
    half = (begin + end + 1) // 2
    for mark in ("\n\n", "\n\r\n", "\n"):
        if (place := text.rfind(mark, max(begin, half - len(mark)), end)) >= 0:
            return place + len(mark)
    place = text.rfind(" ", half, end)  # before it: most tokenizers join a space to the word after it
    return place if place > begin else end
