"""Answers as lines of a file or of the terminal: JSON lines, CSV or TSV, with numbers of four digits."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from keras_transformers.data.tables import FORMATS

DIGITS = 4
SPACES = str.maketrans("\t\r\n", "   ")  # TSV has no quotes
Write = Callable[[dict[str, Any]], None]


def shortened(value: Any) -> Any:
    """Return a value as JSON has it, arrays as lists, with floats of four significant digits.

    Example:

    >>> shortened({"score": 0.123456, "places": (1, 2.0), "label": "good"})
    {'score': 0.1235, 'places': [1, 2.0], 'label': 'good'}
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: shortened(part) for name, part in value.items()}
    return [shortened(part) for part in value] if isinstance(value, (list, tuple)) else value


def flattened(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of an answer in a table.

    A dict is a column for each name in it; names in a list are parted by `|`, as `finetune` reads them; any other list,
    such as a vector, is JSON.

    Example:

    >>> flattened({"text": "a", "probabilities": {"no": 0.25}, "labels": ["x", "y"], "embedding": [0.5, 1.0]})
    {'text': 'a', 'probabilities.no': '0.25', 'labels': 'x|y', 'embedding': '[0.5, 1.0]'}
    """
    cells = {}
    for name, value in answer.items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        cells |= {key: _cell(part) for key, part in parts.items()}
    return cells


def _cell(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(part, str) and "|" not in part for part in value):
        return "|".join(value)
    return value if isinstance(value, str) else "" if value == [] else json.dumps(value, ensure_ascii=False)


def check_out(out: Path | None, file: Path | None) -> None:
    """A `ValueError` where answers cannot be written to a file."""
    if out is None:
        return
    if out.suffix not in FORMATS:
        raise ValueError(f"received --out {out}: expected a file named {', '.join(FORMATS)}.")
    if not out.parent.is_dir():
        raise ValueError(f"received --out {out}: there is no folder {out.parent}.")
    if file is not None and out.resolve() == file.resolve():
        raise ValueError(f"received {out} as --file and --out: expected two files.")


@contextmanager
def written(out: Path | None) -> Iterator[Write]:
    """Give a function that writes an answer, as it comes, to a file or to the terminal."""
    if out is None:
        yield lambda answer: print(json_line(answer), flush=True)
        return
    with out.open("w", encoding="utf-8", newline="") as stream:
        yield (lambda answer: _flushed(stream, json_line(answer))) if out.suffix == ".jsonl" else _rows(stream, out)


def json_line(answer: Mapping[str, Any]) -> str:
    """Return an answer as a JSON object in one line."""
    return json.dumps(shortened(answer), ensure_ascii=False)


def _flushed(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


def _rows(stream: TextIO, out: Path) -> Write:
    """Writes rows of a table, and before the first one the names of its columns."""
    names: list[str] = []
    lines = csv.writer(stream, lineterminator="\n")

    def write(answer: dict[str, Any]) -> None:
        cells = flattened(shortened(answer))
        if not names:
            names.extend(cells)
            put(names)
        put([cells.get(name, "") for name in names])

    def put(row: list[str]) -> None:
        if out.suffix == ".csv":
            lines.writerow(row)
            stream.flush()
        else:
            _flushed(stream, "\t".join(cell.translate(SPACES) for cell in row))

    return write
