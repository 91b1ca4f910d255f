"""The texts of JSON-lines and Parquet files, one a record."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_transformers.text.files.decoded_blocks import decoded_blocks
from keras_transformers.text.text_checks import SURROGATE
from keras_transformers.utils.untrusted import shown

MOST_LETTERS_OF_LINE = 64 << 20  # a line of JSON is parsed whole
ROWS = 256  # of Parquet, in memory at a time


def json_texts(path: Path, encoding: str, field: str) -> Iterator[tuple[int, str]]:
    """Yield the line, from 1, and the text of each record of a JSON-lines file; blank lines are skipped.

    Raises:
        ValueError: A line is no JSON object, lacks the field, has no text there, or is too long; or the file is no
            text: see `decoded_blocks`.
    """
    for number, line in _lines(path, encoding):
        if not line.strip():
            continue
        place = f"{path}, line {number:,}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place}: not JSON ({error}). A .jsonl file has one object a line.") from None
        if not isinstance(record, dict):
            raise ValueError(
                f'{place}: expected a JSON object, such as {{"{field}": "..."}}: received {shown(record)}.'
            )
        if field not in record:
            keys = ", ".join(map(shown, list(record)[:20]))
            raise ValueError(f"{place}: no {field!r}; the object has {keys or 'no keys'}. Say field= (--field).")
        yield number, _checked(place, field, record[field])


def parquet_texts(path: Path, field: str) -> Iterator[tuple[int, str]]:
    """Yield the row, from 1, and the text of each row of a Parquet file, read a few hundred rows at a time.

    Raises:
        ValueError: pyarrow is missing, the file is no Parquet, lacks the column, or a row has no text there.
    """
    number = 0
    with open_parquet(path, field) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=[field], use_threads=False):
            for value in batch.column(0).to_pylist():
                number += 1
                yield number, _checked(f"{path}, row {number:,}", field, value)


def open_parquet(path: Path, field: str) -> Any:
    """Return the `pyarrow.parquet.ParquetFile` of a file that has the column `field`."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ValueError(
            f"{path} is read by pyarrow, which is not installed ({error}). Run pip install pyarrow (the extra "
            "`parquet`), or give the texts as .jsonl or .txt."
        ) from None
    try:
        file = parquet.ParquetFile(path)
    except (ValueError, OSError) as error:  # pyarrow's errors are kinds of these
        raise ValueError(f"{path} is no Parquet file, or damaged ({shown(str(error))}). Fetch it again.") from None
    names = list(file.schema_arrow.names)
    if field not in names:
        file.close()
        raise ValueError(
            f"{path}: no column {field!r}; the file has {', '.join(map(shown, names))}. Say field= (--field)."
        )
    return file


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    number, rest = 1, ""
    for block in decoded_blocks(path, encoding):
        *lines, rest = (rest + block).split("\n")
        for line in lines:
            yield number, line
            number += 1
        if len(rest) > MOST_LETTERS_OF_LINE:
            raise ValueError(
                f"{path}, line {number:,}: more than {MOST_LETTERS_OF_LINE:,} characters, which is too long for one "
                "record of JSON. Split it, or save the text as .txt, which is read piece by piece."
            )
    if rest:
        yield number, rest


def _checked(place: str, field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{place}: expected text as {field!r}, received {shown(value)}. Leave such records out.")
    if not value.isascii() and (surrogate := SURROGATE.search(value)):
        raise ValueError(
            f"{place}: the lone surrogate {surrogate[0]!r} at character {surrogate.start():,} is no character. Put "
            "U+FFFD in its place."
        )
    return value
