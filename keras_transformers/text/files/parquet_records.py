"""The rows of Parquet files, read by pyarrow, some hundreds at a time."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_transformers.utils.untrusted import shown

ROWS = 256  # in memory at a time


def parquet_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number, from 1, and the values of each row.

    Args:
        path: The file.
        columns: Columns to read; all when None.

    Raises:
        ValueError: pyarrow is missing, the file is no Parquet, or is damaged.
    """
    number = 0
    file = open_parquet(path)
    with file:
        try:
            for batch in file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
        except (ValueError, OSError) as error:  # pyarrow's errors are kinds of these
            raise _damaged(path, error) from None


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns."""
    with open_parquet(path) as file:
        return list(file.schema_arrow.names)


def open_parquet(path: Path) -> Any:
    """Return the `pyarrow.parquet.ParquetFile` of a file."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ValueError(
            f"{path} is read by pyarrow, which is not installed ({error}). Run pip install pyarrow (the extra "
            "`parquet`), or give the texts as .jsonl or .txt."
        ) from None
    try:
        return parquet.ParquetFile(path)
    except (ValueError, OSError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is no Parquet file, or damaged ({shown(str(error))}). Fetch it again.")
