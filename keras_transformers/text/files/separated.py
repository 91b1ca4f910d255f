"""Rows of a file whose fields are separated by commas, semicolons or tabs, with or without quotes."""

from __future__ import annotations

import csv
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.text.files.decoded_blocks import MOST_LETTERS_OF_LINE, lines_of

DELIMITERS = {".csv": ",;\t", ".tsv": "\t;,"}  # by ending, its own one first
DOUBLED = re.compile(r'(?:^|\t)"(?:[^"]|"")*""(?:[^"]|"")*"(?=[\t\r\n]|$)')  # quotes in a field with quotes
LIMIT_LOCK = threading.Lock()
SAMPLE = 1 << 22  # characters that tell whether tabs part fields with quotes
Accepts = Callable[[list[str]], Any]


class Separated(NamedTuple):
    """A table of which the first row is read: `rows` yields the line that each row ends on, and its fields."""

    delimiter: str
    header: list[str]
    rows: Iterator[tuple[int, list[str]]]


def open_separated(
    path: Path, kind: str, encoding: str = "utf-8", errors: str = "strict", accepts: Accepts | None = None
) -> Separated:
    """Find out how a table is written, and return its rows, which are read on demand.

    Args:
        path: The file, which may be compressed.
        kind: Ending of the file; the delimiter is that of the ending, or else the first of `,`, `;` and tab that suits.
        encoding, errors: As for `decoded_blocks`.
        accepts: A function that returns whether a first row is the header that is looked for.

    Raises:
        ValueError: The file cannot be read; or, as rows are read, a quote is not closed, or a row is too long. The
            message has the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_text('text;label\\n"a;b";c\\n')
    >>> list(open_separated(path, ".csv", accepts=lambda header: "text" in header).rows)
    [(1, ['text', 'label']), (2, ['a;b', 'c'])]
    """
    lines = lines_of(path, encoding, errors, ends="")
    head, is_whole, lines = _head(lines)
    own, *others = list(DELIMITERS.get(kind, DELIMITERS[".tsv"]))
    delimiter = own
    if accepts is not None and others and not accepts(_first(head, own)):
        delimiter = next((other for other in others if accepts(_first(head, other))), own)
        if delimiter == own and kind == ".csv":  # its columns are told as they are parted
            delimiter = max((own, *others), key=lambda one: len(_first(head, one)))
    if accepts is None and kind == ".csv" and len(_first(head, own)) == 1:
        _check_is_one_column(path, head)
    quoted = delimiter != "\t" or has_quotes(head, is_whole)
    return Separated(delimiter, _first(head, delimiter), _rows(path, chain(head, lines), delimiter, quoted))


def _check_is_one_column(path: Path, head: Sequence[str]) -> None:
    """Refuse lines without commas that all have as many semicolons, or tabs."""
    lines = [line for line in head if line.strip()]
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        counts = {line.count(sign) for line in lines}
        if len(lines) > 2 and len(counts) == 1 and counts != {0} and '"' not in lines[0]:
            raise ValueError(
                f"{path}: all lines have {counts.pop()} {name} and no commas, so it is not clear whether they have one "
                f'column. Part the fields by commas, or put quotes (") around texts.'
            )


def has_quotes(lines: Sequence[str], is_whole: bool = True) -> bool:
    """Return whether quotes around a tab-separated field belong to the field.

    Programs that quote do so to all fields, or to those with a tab, a line end or a quote, which they double. Fields
    that begin with a quote in any other file are text as it stands.

    Args:
        lines: Lines of the file, from its first one on.
        is_whole: Whether these are all lines; if not, the last row may be incomplete.

    >>> has_quotes(['a\\t"b ""c"" d"\\n']), has_quotes(['"a\\tb" c\\n']), has_quotes(['"Hi."\\tHallo.\\n'])
    (True, False, False)
    """
    if not any('\t"' in line or line.startswith('"') for line in lines):
        return False
    rows = []
    try:
        for row in _of_any_length(csv.reader(lines, delimiter="\t", strict=True)):
            rows += [row] if row else []
    except csv.Error as error:
        if is_whole or str(error) != "unexpected end of data":
            return False
    if not rows or len(set(map(len, rows))) > 1:
        return False
    plain = [line.rstrip("\r\n").split("\t") for line in lines if line.strip()]
    everywhere = all(field[:1] == '"' == field[-1:] and len(field) > 1 for field in plain[0] if field)
    return everywhere or len(set(map(len, plain))) > 1 or any(map(DOUBLED.search, lines))


def hint_of_row(row: Sequence[str]) -> str:
    """Return a hint for the error of a row of another width, or of a header without a column."""
    if any(field[:1] == " " and field.lstrip(" ")[:1] == '"' for field in row):
        return ' No space may occur between a comma and a quote (").'
    if row and row[0].lower().startswith("sep="):
        return " Its first line, sep=, is a note for Excel: remove it."
    if len(row) == 1 and "|" in row[0]:
        return " The file is separated by vertical bars: save it with commas."
    if len(row) == 1 and ";" in row[0]:
        return " The file is separated by semicolons: save it with commas."
    if len(row) == 1 and "\t" in row[0]:
        return " The file is separated by tabs: name it .tsv."
    return ""


def _head(lines: Iterator[str]) -> tuple[list[str], bool, Iterator[str]]:
    """Return the first lines, of some `SAMPLE` characters, whether they are all, and an iterator of the others."""
    head, size = [], 0
    try:
        for line in lines:
            head.append(line)
            size += len(line)
            if size >= SAMPLE:
                return head, False, lines
    except ValueError as error:
        if not head:
            raise
        return head, False, _failing(error)  # a fault behind rows that can be read
    return head, True, iter(())


def _failing(error: ValueError) -> Iterator[str]:
    raise error
    yield


def _first(head: Sequence[str], delimiter: str) -> list[str]:
    """Return the fields of the first row that is not blank; as they stand if its quotes are broken."""
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        try:
            reader = csv.reader(head, delimiter=delimiter, strict=True, quoting=quoting)
            return next((row for row in _of_any_length(reader) if row), [])
        except csv.Error:
            continue
    return []


def _rows(path: Path, lines: Iterator[str], delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(
        lines, delimiter=delimiter, strict=quoted, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    )
    last = 0  # the line that the row before ended on
    try:
        for row in _of_any_length(reader):
            last = reader.line_num
            if row:
                yield last, row
    except csv.Error as error:
        begin, end = last + 1, reader.line_num
        if str(error) == "unexpected end of data":
            raise ValueError(
                f'{path}, line {begin}: a quote (") opens here and is never closed. Close it, or double it in the text.'
            ) from None
        lines_of_row = f"line {begin}" if begin == end else f"line {end}, in the row that begins in line {begin}"
        raise ValueError(f"{path}, {lines_of_row}: {error}.") from None


def _of_any_length(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Lift the limit of `csv`, 131,072 characters per field, which all threads share: for one row at a time."""
    while True:
        with LIMIT_LOCK:
            limit = csv.field_size_limit(MOST_LETTERS_OF_LINE)
            try:
                row = next(reader, None)
            finally:
                csv.field_size_limit(limit)
        if row is None:
            return
        yield row
