"""Columns of the records of a file, whatever its format: JSON lines, JSON arrays, Parquet, and separated fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformers.text.files.json_records import JSON_LINES, json_lines, json_values
from keras_transformers.text.files.packed import is_packed, kind_of
from keras_transformers.text.files.parquet_records import parquet_columns, parquet_rows
from keras_transformers.text.files.separated import hint_of_row, open_separated
from keras_transformers.text.files.zipped import archive_of
from keras_transformers.utils.text_checks import SURROGATE
from keras_transformers.utils.untrusted import shown, warn_user

PARQUET = ".parquet"
JSON = {**dict.fromkeys(JSON_LINES, json_lines), ".json": json_values}
SEPARATED = (".csv", ".tsv")
FORMATS = (*SEPARATED, *JSON, PARQUET)  # endings of files of records, perhaps before that of a compression
UNITS = {".json": "record", PARQUET: "row"}  # what `place` counts, if not lines

# First rows of tables that people give by numbers although they have names.
HEADERS = (
    *("text", "texts", "label", "labels", "sentence", "sentence1", "sentence2", "question", "answer", "premise"),
    *("hypothesis", "source", "target", "class", "category", "score", "title", "content", "review", "tweet", "query"),
)

Column = str | int


def is_table(path: Path) -> bool:
    """Return whether a file holds records rather than plain text, as its ending says."""
    return kind_of(path) in FORMATS


def place(path: Path, number: int) -> str:
    """Return where a record stands, for a message.

    >>> place(Path("a.jsonl"), 3), place(Path("a.json"), 3)
    ('a.jsonl, line 3', 'a.json, record 3')
    """
    return f"{path}, {UNITS.get(kind_of(path), 'line')} {number:,}"


def read_records(
    path: Path, columns: Sequence[Column], encoding: str = "utf-8", errors: str = "strict", remedy: str = ""
) -> Iterator[tuple[int, list[Any]]]:
    """Yield the line that each record ends on (its number, from 1, in Parquet and arrays), and the values of columns.

    Args:
        path: A file whose ending is one of `FORMATS`; it may be compressed.
        columns: Names of columns or keys, `a.b` for `b` of the object `a`, of any depth; or all numbers, from 0,
            of columns of a `.csv` or `.tsv` without a header.
        encoding, errors: As for `decoded_blocks`.
        remedy: Remedy for a missing column, for the error message: how to name columns.

    Raises:
        ValueError: A column is missing or there twice, a row has more or fewer fields than the first one, or the file
            is damaged. The message has the file and the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.jsonl")
    >>> _ = path.write_text('{"text": "The fox.", "id": {"page": 3}}\\n')
    >>> list(read_records(path, ["text", "id.page"]))
    [(1, ['The fox.', 3])]
    """
    kind = kind_of(path)
    if kind in SEPARATED:
        yield from _of_rows(path, kind, columns, encoding, errors, remedy)
        return
    for number, record in objects(path, encoding, errors, columns, remedy):
        if twice := [name for column in columns if (name := _twice(record, column))]:
            raise ValueError(f"{place(path, number)}: the object has {shown(twice[0])} more than once.")
        try:
            yield number, [value_of(record, column) for column in columns]
        except KeyError as error:
            names = ", ".join(map(shown, names_of(record)[:20])) or "no keys"
            raise ValueError(
                f"{place(path, number)}: no {shown(error.args[0])}; the object has {names}. {remedy}"
            ) from None


def objects(
    path: Path,
    encoding: str = "utf-8",
    errors: str = "strict",
    columns: Sequence[Column] | None = None,
    remedy: str = "",
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the line or number, and the object, of each record of a JSON or Parquet file.

    Args:
        path, encoding, errors, remedy: As for `read_records`.
        columns: Columns to read from Parquet; None for all.
    """
    kind = kind_of(path)
    if kind != PARQUET:
        yield from JSON[kind](path, encoding, errors)
        return
    if (archive := archive_of(path)) or is_packed(path):
        raise ValueError(f"{path}: Parquet is compressed in itself. Unpack the {(archive or path).suffix} first.")
    known = parquet_columns(path)
    tops = None if columns is None else [column if column in known else str(column).split(".")[0] for column in columns]
    if missing := [column for column in tops or () if column not in known]:
        raise ValueError(
            f"{path}: no column {shown(missing[0])}; the file has {', '.join(map(shown, known))}. {remedy}"
        )
    if twice := [column for column in tops or known if known.count(str(column)) > 1]:
        raise ValueError(
            f"{path}: {known.count(str(twice[0]))} columns are named {shown(twice[0])}: rename all but one."
        )
    yield from parquet_rows(path, tops and list(dict.fromkeys(map(str, tops))))


def column_of(path: Path, field: str) -> Column:
    """Return a column by what the user typed: a name, or a number of a table of separated fields without header.

    >>> column_of(Path("a.csv"), "1"), column_of(Path("a.jsonl"), "1")
    (1, '1')
    """
    return int(field) if field.isascii() and field.isdigit() and kind_of(path) in SEPARATED else field


def names_of(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the values of a record, with `a.b` for the values of an object in it.

    >>> names_of({"id": 1, "translation": {"en": "Hi.", "de": "Hallo."}})
    ['id', 'translation.en', 'translation.de']
    """
    return [
        name
        for key, value in record.items()
        for name in ([f"{key}.{inner}" for inner in value] if isinstance(value, Mapping) and value else [key])
    ]


def value_of(record: Mapping[str, Any], column: Column) -> Any:
    """Return the value of a column of a record; a `KeyError` has a name that is not there."""
    if column in record:
        return record[column]  # type: ignore[index]
    top, _, inner = str(column).partition(".")
    if inner and isinstance(record.get(top), Mapping):
        try:
            return value_of(record[top], inner)
        except KeyError:
            pass
    raise KeyError(column)


def _twice(record: Mapping[str, Any], column: Column) -> str | None:
    """Return the name on the way to a column that an object has more than once."""
    top, _, inner = (str(column), "", "") if column in record else str(column).partition(".")
    if top in getattr(record, "twice", ()):
        return top
    return _twice(record[top], inner) if inner and isinstance(record.get(top), Mapping) else None


def checked_text(where: str, field: Column, value: Any) -> str:
    """Return a value that is text; raise a `ValueError` with its place if it is not."""
    if not isinstance(value, str):
        remedy = "Leave such records out."
        if isinstance(value, (list, Mapping)):  # as `DataFrame.to_json()` writes a whole column
            remedy = "Save one record per text (pandas: orient='records'), or leave such records out."
        raise ValueError(f"{where}: expected text as {field!r}, received {shown(value)}. {remedy}")
    if not value.isascii() and (surrogate := SURROGATE.search(value)):
        raise ValueError(
            f"{where}: the lone surrogate {surrogate[0]!r} at character {surrogate.start():,} is no character. Put "
            "U+FFFD in its place."
        )
    return value


def _of_rows(
    path: Path, kind: str, columns: Sequence[Column], encoding: str, errors: str, remedy: str
) -> Iterator[tuple[int, list[str]]]:
    named = bool(columns) and isinstance(columns[0], str)
    accepts = (lambda header: set(columns) <= set(header)) if named else None
    table = open_separated(path, kind, encoding, errors, accepts)
    if not table.header:
        return
    known: Sequence[Any] = table.header if named else range(len(table.header))
    for column in columns:
        if column not in known:
            raise ValueError(
                f"{path}, line 1: no column {shown(column)}; the file has {', '.join(map(shown, known))}."
                + (hint_of_row(table.header) or f" {remedy}")
            )
        if (count := list(known).count(column)) > 1:
            raise ValueError(f"{path}, line 1: {count} columns are named {shown(column)}; rename all but one.")
    wanted = [known.index(column) for column in columns]
    if named:
        next(table.rows)
    elif all(table.header[place].strip().lower() in HEADERS for place in wanted):
        names = ", ".join(shown(table.header[place]) for place in wanted)
        warn_user(f"{path}: its first row, {names}, looks like a header, and is read as texts. Give columns by name.")
    for line, row in table.rows:
        if len(row) != len(table.header):
            raise ValueError(
                f"{path}, line {line}: {len(row)} fields; expected {len(table.header)} as in the first row."
                + hint_of_row(row)
            )
        yield line, [row[place] for place in wanted]
