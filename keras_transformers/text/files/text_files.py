"""The text of files of any size: a file, many, a folder or a pattern, read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from keras_transformers.text.files.decoded_blocks import check_encoding, check_errors, decoded_blocks, lines_of
from keras_transformers.text.files.found_files import Paths, find_text_files
from keras_transformers.text.files.other_encodings import doubt
from keras_transformers.text.files.packed import is_packed, kind_of
from keras_transformers.text.files.records import (
    PARQUET,
    checked_text,
    column_of,
    is_table,
    place,
    read_records,
)
from keras_transformers.text.files.zipped import parts_of
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.text_checks import SURROGATE
from keras_transformers.utils.untrusted import warn_user

PIECE = 16384  # characters of a piece when iterating
FIELD = "text"
REMEDY = "Say field=, or name a file .txt to read it as plain text."


class Section(NamedTuple):
    """A part of a document: `text`, its `file`, the `line` that it begins in (of a table: that its row ends on; its
    number, in Parquet and `.json`), and whether it is the document's last one.
    """

    text: str
    file: Path
    line: int
    ends_document: bool


class TextFiles:
    """The text of files, read piece by piece, in flat memory, as often as one likes.

    The ending decides how a file is read: `.jsonl`, `.jsonlines` and `.ndjson` have one JSON object a line, `.json` an
    array of them; `.csv`, `.tsv` and `.parquet` have columns; anything else is plain text. A file with `.gz`, `.bz2`,
    `.xz`, `.zst` or `.zip` after the ending is decompressed. A plain text file is one document, or each of its lines is
    (`lines`); a record of the others is one. A `.zip` of several files is read like a folder of them.

    Args:
        paths: One or several of: a file, a folder (every file below it that is not hidden), a pattern such as
            `texts/**/*.txt`. A README or a licence beside tables, or a README with the head of a hub's card, is left
            out with a warning; give its path to read it.
        field: The key or column of the text; `a.b` is `b` of the object `a`. Of a `.csv` or `.tsv` without a header,
            the number of the column, from 0.
        encoding: Encoding of all files but Parquet. A byte order mark is left out.
        errors: `"strict"`, or `"replace"` to put U+FFFD in place of bytes that are no text.
        lines: Whether each line of a plain text file is a document, without its line end; blank ones are none.
        without: Folders that are left out where a folder or a pattern is searched, such as one that is written.

    Attributes:
        files: tuple of `pathlib.Path`, sorted, each once.
        size: int, bytes of these files as they are stored.
        text_size: int, about the size of their text, of compressed ones too.
        field, encoding, errors, lines: Arguments as given.

    Raises:
        ValueError: No such file, nothing in a folder or that matches a pattern, an unknown encoding, only empty files,
            no such column, or a `field` and no file that has fields; and, when that place is read: bytes that cannot
            be decoded, a damaged file, a record without text. The message has the file and the line.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("The cat sat.\\n")
    >>> _ = (folder / "b.jsonl").write_text('{"text": "A dog ran."}\\n')
    >>> list(TextFiles(folder))
    ['The cat sat.\\n', 'A dog ran.']
    """

    def __init__(
        self,
        paths: Paths,
        *,
        field: str = FIELD,
        encoding: str = "utf-8",
        errors: str = "strict",
        lines: bool = False,
        without: Sequence[str | os.PathLike] = (),
    ):
        if not isinstance(field, str) or not field:
            raise ValueError(f"Received field={field!r}: expected the name of a key or a column, such as 'text'.")
        self.encoding, self.errors = check_encoding(encoding), check_errors(errors)
        self.files, self.field, self.lines = find_text_files(paths, without), field, lines
        self.size = sum(path.stat().st_size for path in self.files)
        if not self.size:
            raise ValueError(f"{_named(self.files)} without a byte: expected some text. Give other files.")
        parts = [*_parts(self.files)]
        for part in parts:
            self._check(part)
        if field != FIELD and not any(map(is_table, parts)):
            raise ValueError(
                f"Received field={field!r}, and {_named(self.files)} plain text, without fields: leave it "
                "out, or name a table by its format: .csv, .tsv, .jsonl, .json or .parquet."
            )

    @property
    def reading(self) -> tuple[str, str, str, bool]:
        """Return how the files are read: with them, it determines the text."""
        return self.field, self.encoding, self.errors, self.lines

    @cached_property
    def text_size(self) -> int:
        """About the size of the text: the bytes of plain files, and the characters in those that are compressed, which
        are read for it, once.
        """
        packed = [path for path in self.files if is_compressed(path)]
        stored = self.size - sum(path.stat().st_size for path in packed)
        return stored + sum(
            len(text) for part in _parts(packed) for _, blocks in self._documents(part) for text in blocks
        )

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
        for path in _parts(self.files):
            is_record = is_table(path)
            for line, blocks in self._documents(path):
                for section in _cut(blocks, path, line, size, not is_record):
                    is_empty = False
                    yield section
        if is_empty:
            raise ValueError(f"{_named(self.files)} without any text. Give other files.")

    def _documents(self, path: Path) -> Iterator[tuple[int, Iterator[str]]]:
        """Yield the line and the text, in blocks, of each document."""
        if is_table(path):
            column = column_of(path, self.field)
            for number, (value,) in read_records(path, [column], self.encoding, self.errors, REMEDY):
                if not isinstance(value, str) or (not value.isascii() and SURROGATE.search(value)):
                    checked_text(place(path, number), self.field, value)
                yield number, iter([value])
        elif self.lines:
            for number, line in enumerate(lines_of(path, self.encoding, self.errors), 1):
                if text := line.rstrip("\r\n"):
                    yield number, iter([text])
        else:
            yield 1, decoded_blocks(path, self.encoding, self.errors)

    def _check(self, path: Path) -> None:
        """Refuse, before any work, what the ending or the begin of a file shows."""
        if kind_of(path) == ".tmx":
            raise ValueError(f"{path} is a translation memory, texts in two languages: give it as --pairs.")
        next((list(islice(blocks, 2)) for _, blocks in self._documents(path)), None)  # a fault follows what is good
        if kind_of(path) != PARQUET and (reason := doubt(path, self.encoding)):
            warn_user(reason)


def is_compressed(path: Path) -> bool:
    """Return whether a file may be smaller than its text.

    >>> is_compressed(Path("a.txt.GZ")), is_compressed(Path("a.jsonl"))
    (True, False)
    """
    return is_packed(path) or path.suffix.lower() == PARQUET


def _parts(files: Iterable[Path]) -> Iterator[Path]:
    """Yield the files; in place of a .zip of several files, the files in it."""
    return (part for path in files for part in parts_of(path))


def _named(files: tuple[Path, ...]) -> str:
    return f"{files[0]} is" if len(files) == 1 else f"All {len(files)} files, such as {files[0]}, are"


def _cut(blocks: Iterator[str], path: Path, line: int, size: int, numbered: bool) -> Iterator[Section]:
    """Yield the sections of one document; `numbered`: whether a line end of its text is one of the file."""
    text, begin = "", 0
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
