"""Tables of texts and labels from CSV, TSV and JSON-lines files."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from keras_transformers.utils.untrusted import check_file

FORMATS = (".csv", ".tsv", ".jsonl")
ANY_LENGTH, LIMIT_LOCK = 2**31 - 1, threading.Lock()


class Table(NamedTuple):
    """Columns of one file: `texts`, and `pairs` and `labels` or `None`. Labels are strings, or any JSON values."""

    texts: list[str]
    pairs: list[str] | list[list[str]] | None  # of a task that chooses among several, a list of them for each text
    labels: list[Any] | None


def read_table(
    path: str | Path,
    text: str | int = "text",
    text_pair: str | int | None = None,
    label: str | int | None = None,
) -> Table:
    """Read texts, and optionally pairs and labels, from the columns of a file.

    CSV may have quotes (`"a, b"`), TSV has none, JSON lines has one object per line. Files are UTF-8, with or without a
    byte order mark; blank lines are skipped.

    Args:
        path: A file named `.csv`, `.tsv` or `.jsonl`.
        text: The column of the texts: its name in the header, or its number from 0 in a file without header.
        text_pair: The column of the second texts, or `None`.
        label: The column of the labels, or `None`.

    Returns:
        `Table(texts, pairs, labels)`.

    Raises:
        ValueError: No such file, another format, a missing or repeated column, a row with more or fewer fields than the
            first, a broken quote, bytes that are not UTF-8, or no rows. The message has the line.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text('text,label\\n"Good, really.",positive\\n')
    >>> read_table(path, label="label")
    Table(texts=['Good, really.'], pairs=None, labels=['positive'])
    """
    path = Path(path)
    columns = [column for column in (text, text_pair, label) if column is not None]
    rows = list(read_rows(path, columns))
    values = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    for column in (text, text_pair):
        if column is not None:
            check_strings(path, column, values[column])
    pairs, labels = (None if column is None else values[column] for column in (text_pair, label))
    return Table(values[text], pairs, labels)


def check_columns(path: str | Path, columns: Sequence[str | int]) -> None:
    """Raise a `ValueError` if a table cannot be read up to its first row; call it before long work.

    Args:
        path: as for `read_table`.
        columns: The columns to be read.

    Raises:
        ValueError: as for `read_table`.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("text,label\\nGood,positive\\n")
    >>> check_columns(path, ["text", "lable"])
    Traceback (most recent call last):
    ...
    ValueError: ...reviews.csv, line 1: no column 'lable'; the file has 'text', 'label'. Name the columns: ...
    """
    next(read_rows(path, columns))


def read_rows(path: str | Path, columns: Sequence[str | int]) -> Iterator[list[Any]]:
    """Yield the rows of a file, read on demand, for files larger than memory.

    Args:
        path: as for `read_table`.
        columns: Names or numbers, at least one.

    Yields:
        The values of the columns.

    Raises:
        ValueError: as for `read_table`, once the row is reached.
    """
    is_empty = True
    for _, values in _records(Path(path), columns):
        is_empty = False
        yield values
    if is_empty:
        raise ValueError(f"{path}: no rows; expected at least one.")


def place_of(path: str | Path, column: str | int, number: int) -> str:
    """Format the place of a row for an error message, with its last line in the file.

    Args:
        path: as for `read_table`.
        column: Any of its columns.
        number: Number of the row, from 1.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text('text,label\\n"Good,\\nreally.",positive\\n')
    >>> place_of(path, "text", 1).replace(str(path), "reviews.csv")
    'reviews.csv, row 1 (line 3)'
    """
    line, _ = next(islice(_records(Path(path), [column]), number - 1, None))
    return f"{path}, row {number} (line {line})"


def _records(path: Path, columns: Sequence[str | int]) -> Iterator[tuple[int, list[Any]]]:
    """Yield the line that each record ends on, and its values."""
    if len({type(column) for column in columns}) > 1:
        raise ValueError(f"Received columns {columns}: expected all names (a file with a header) or all numbers.")
    records = _json_records if path.suffix.lower() == ".jsonl" else _separated_records
    with _lines(path) as lines:
        try:
            yield from records(path, lines, columns)
        except UnicodeDecodeError:
            read_utf8(path)  # its error names the line
            raise


def check_strings(path: Path, column: str | int, values: Iterable[Any], first: int = 1):
    """Raise a `ValueError` with the row number if a value is not a string, as is possible in JSON lines."""
    for number, value in enumerate(values, first):
        if not isinstance(value, str):
            raise ValueError(f"{place_of(path, column, number)}: {column!r} is {value!r}; expected a string.")


def _lines(path: Path) -> TextIO:
    """Open a file to read its lines; JSON lines end with a line feed only."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"Received {path}: expected a file named {', '.join(FORMATS)}.")
    check_file(path)
    return path.open(encoding="utf-8-sig", newline="\n" if path.suffix.lower() == ".jsonl" else "")


def read_utf8(path: Path) -> str:
    """Read the text of a file without its byte order mark. If it is not UTF-8, a `ValueError` names the line."""
    check_file(path)
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {data[error.start]:#04x} is not UTF-8; save it as UTF-8."
        ) from None


def _separated_records(path: Path, lines: TextIO, columns: Sequence) -> Iterator[tuple[int, list[str]]]:
    options = {"strict": True} if path.suffix.lower() == ".csv" else {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    reader = csv.reader(lines, **options)
    wanted, width, last = None, 0, 0  # the line that the row before ended on
    try:
        for row in _of_any_length(reader):
            last = reader.line_num
            if not row:
                continue
            if wanted is None:
                wanted, width = _places(path, row, columns), len(row)
                if isinstance(columns[0], str):
                    continue
            if len(row) != width:
                raise ValueError(
                    f"{path}, line {reader.line_num}: {len(row)} fields; expected {width} as in the first row."
                    + _hint(row)
                )
            yield reader.line_num, [row[place] for place in wanted]
    except csv.Error as error:
        begin, end = last + 1, reader.line_num
        if str(error) == "unexpected end of data":
            raise ValueError(
                f'{path}, line {begin}: a quote (") opens here and is never closed. Close it, or double it in the text.'
            ) from None
        lines_of_row = f"line {begin}" if begin == end else f"line {end}, in the row that begins in line {begin}"
        raise ValueError(f"{path}, {lines_of_row}: {error}.") from None


def _hint(row: Sequence[str]) -> str:
    """Return a hint for the error of a row of another width, or of a header without a column."""
    if any(field[:1] == " " and field.lstrip(" ")[:1] == '"' for field in row):
        return ' No space may stand between a comma and a quote (").'
    if len(row) == 1 and ";" in row[0]:
        return " The file is separated by semicolons: save it with commas."
    if len(row) == 1 and "\t" in row[0]:
        return " The file is separated by tabs: name it .tsv."
    return ""


def _of_any_length(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Lift the limit of `csv`, 131,072 characters per field, which all threads share: for one row at a time."""
    while True:
        with LIMIT_LOCK:
            limit = csv.field_size_limit(ANY_LENGTH)
            try:
                row = next(reader, None)
            finally:
                csv.field_size_limit(limit)
        if row is None:
            return
        yield row


def _places(path: Path, row: list[str], columns: Sequence) -> list[int]:
    known = row if isinstance(columns[0], str) else range(len(row))
    for column in columns:
        if column not in known:
            raise ValueError(
                f"{path}, line 1: no column {column!r}; the file has {', '.join(map(repr, known))}."
                + (_hint(row) or " Name the columns: --text and --label, or text= and label=.")
            )
        if (count := list(known).count(column)) > 1:
            raise ValueError(f"{path}, line 1: {count} columns are named {column!r}; rename all but one.")
    return [known.index(column) for column in columns]


def _json_records(path: Path, lines: TextIO, columns: Sequence) -> Iterator[tuple[int, list]]:
    names: list[str] = []

    def with_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names[:] = [name for name, _ in pairs]  # the outermost object comes last
        return dict(pairs)

    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=with_names)
        except (ValueError, RecursionError) as error:  # such as a number of 5,000 digits, which is valid JSON
            raise ValueError(f"{path}, line {number}: not JSON that Python reads ({error}).") from None
        if not isinstance(record, dict):
            raise ValueError(f'{path}, line {number}: expected a JSON object, such as {{"text": ...}}.')
        if twice := [column for column in columns if names.count(column) > 1]:
            raise ValueError(f"{path}, line {number}: the object has {twice[0]!r} more than once.")
        missing = [column for column in columns if column not in record]
        if missing:
            raise ValueError(
                f"{path}, line {number}: no {missing[0]!r}; the object has {', '.join(map(repr, record))}."
            )
        yield number, [record[column] for column in columns]
