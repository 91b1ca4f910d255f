"""Tables of texts and labels from the files of `FORMATS`: CSV, TSV, JSON and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.text.files.decoded_blocks import check_encoding, check_errors, decoded_blocks
from keras_transformers.text.files.records import FORMATS, is_table, place, read_records
from keras_transformers.utils.untrusted import check_file

REMEDY = "Name the columns: text= and label=."


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
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Table:
    """Read texts, and optionally pairs and labels, from the columns of a file.

    CSV may have quotes (`"a, b"`) and semicolons for commas; TSV has quotes only if it doubles them, or has them around
    every field; JSON lines has one object per line, `.json` an array of objects. A byte order mark is left out, blank
    lines are skipped. Files may be compressed: `.csv.gz`, `.bz2`, `.xz`, `.zst`, `.zip`.

    Args:
        path: A file named `.csv`, `.tsv`, `.jsonl`, `.jsonlines`, `.ndjson`, `.json` or `.parquet`.
        text: The column of the texts: its name in the header (`a.b` for `b` of the JSON object `a`), or its number from
            0 in a file without header.
        text_pair: The column of the second texts, or `None`.
        label: The column of the labels, or `None`.
        encoding: Encoding of all files but Parquet.
        errors: `"strict"`, or `"replace"` to put U+FFFD in place of bytes that are no text.

    Returns:
        `Table(texts, pairs, labels)`.

    Raises:
        ValueError: No such file, another format, a missing or repeated column, a row with more or fewer fields than the
            first, a broken quote, bytes of another encoding, or no rows. The message has the line.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text('text,label\\n"Good, really.",positive\\n')
    >>> read_table(path, label="label")
    Table(texts=['Good, really.'], pairs=None, labels=['positive'])
    """
    path = Path(path)
    columns = [column for column in (text, text_pair, label) if column is not None]
    rows = list(read_rows(path, columns, encoding, errors))
    values = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    for column in (text, text_pair):
        if column is not None:
            check_strings(path, column, values[column], encoding=encoding, errors=errors)
    pairs, labels = (None if column is None else values[column] for column in (text_pair, label))
    return Table(values[text], pairs, labels)


def check_columns(
    path: str | Path, columns: Sequence[str | int], encoding: str = "utf-8", errors: str = "strict"
) -> None:
    """Raise a `ValueError` if a table cannot be read up to its first row; call it before long work.

    Args:
        path, encoding, errors: as for `read_table`.
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
    next(read_rows(path, columns, encoding, errors))


def read_rows(
    path: str | Path, columns: Sequence[str | int], encoding: str = "utf-8", errors: str = "strict"
) -> Iterator[list[Any]]:
    """Yield the rows of a file, read on demand, for files larger than memory.

    Args:
        path, encoding, errors: as for `read_table`.
        columns: Names or numbers, at least one.

    Yields:
        The values of the columns.

    Raises:
        ValueError: as for `read_table`, once the row is reached.
    """
    is_empty = True
    for _, values in _records(Path(path), columns, encoding, errors):
        is_empty = False
        yield values
    if is_empty:
        raise ValueError(f"{path}: no rows; expected at least one.")


def place_of(path: str | Path, column: str | int, number: int, encoding: str = "utf-8", errors: str = "replace") -> str:
    """Format the place of a row for an error message, with its last line in the file.

    Args:
        path, encoding, errors: as for `read_table`.
        column: Name or number of any of the columns.
        number: Number of the row, from 1.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text('text,label\\n"Good,\\nreally.",positive\\n')
    >>> place_of(path, "text", 1).replace(str(path), "reviews.csv")
    'reviews.csv, row 1 (line 3)'
    """
    row = f"{path}, row {number}"
    try:
        line, _ = next(islice(_records(Path(path), [column], encoding, errors), number - 1, None))
    except ValueError:  # it is in another encoding than those who ask know: the number of the row is enough
        return row
    unit = place(Path(path), line).removeprefix(f"{path}, ")
    return row if unit == f"row {number}" else f"{row} ({unit})"


def _records(path: Path, columns: Sequence[str | int], encoding: str, errors: str) -> Iterator[tuple[int, list[Any]]]:
    """Yield the line that each record ends on (its number, in Parquet and arrays), and its values."""
    if len({type(column) for column in columns}) > 1:
        raise ValueError(f"Received columns {columns}: expected all names (a file with a header) or all numbers.")
    check_file(path)
    if not is_table(path):
        raise ValueError(f"Received {path}: expected a file named {', '.join(FORMATS)}.")
    yield from read_records(path, columns, check_encoding(encoding), check_errors(errors), REMEDY)


def check_strings(
    path: Path,
    column: str | int,
    values: Iterable[Any],
    first: int = 1,
    encoding: str = "utf-8",
    errors: str = "replace",
):
    """Raise a `ValueError` with the row number if a value is not a string, as is possible in JSON lines."""
    for number, value in enumerate(values, first):
        if not isinstance(value, str):
            place = place_of(path, column, number, encoding, errors)
            raise ValueError(f"{place}: {column!r} is {value!r}; expected a string.")


def read_whole(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Return the text of a small file, which may be compressed, without its byte order mark.

    Args:
        path, encoding, errors: as for `read_table`.

    Raises:
        ValueError: There are bytes of another encoding; the message has the line and the byte.
    """
    check_file(path)
    return "".join(decoded_blocks(path, check_encoding(encoding), check_errors(errors)))
