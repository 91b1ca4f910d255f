"""Answers as lines of a file or of the terminal: JSON lines, CSV or TSV, with numbers of four digits."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from keras_transformers.utils.safe_files import no_room_as_error
from keras_transformers.utils.untrusted import resolved
from zoo.cli.app import AfterSaving
from zoo.terminal.options import check_new_file

DIGITS = 4
FORMATS = (".csv", ".tsv", ".jsonl")  # that are written
LETTERS = 40  # of a file's name that begin the name of its partial file: names have at most 255 bytes
SPACES = str.maketrans("\t\r\n", "   ")  # TSV has no quotes
Write = Callable[[dict[str, Any]], None]


def as_json(value: Any, digits: int | None = None) -> Any:
    """Return a value as JSON has it: arrays as lists, None for a float that is not finite.

    Args:
        value: Numbers, strings, arrays; lists and dicts of them.
        digits: Significant digits of floats; None for all.

    Example:

    >>> as_json({"score": 0.123456, "places": (1, float("nan")), "label": "good"}, digits=4)
    {'score': 0.1235, 'places': [1, None], 'label': 'good'}
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float):  # JSON has no NaN and no infinity
        rounded = value if digits is None else float(f"{value:.{digits}g}")
        return rounded if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: as_json(part, digits) for name, part in value.items()}
    return [as_json(part, digits) for part in value] if isinstance(value, (list, tuple)) else value


def flattened(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of an answer in a table, by the names of the columns.

    A dict gives a column for each of its names; names in a list are separated by `|`, as `finetune` reads them; any
    other list, such as a vector, is JSON.

    Example:

    >>> flattened({"text": "a", "probabilities": {"no": 0.25}, "labels": ["x", "y"], "embedding": [0.5, 1.0]})
    {'text': 'a', 'probabilities.no': '0.25', 'labels': 'x|y', 'embedding': '[0.5, 1.0]'}
    """
    cells: dict[str, str] = {}
    for name, value in answer.items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        cells |= {key: _cell(part) for key, part in parts.items()}
    return cells


def _cell(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(part, str) and "|" not in part for part in value):
        return "|".join(value)
    return value if isinstance(value, str) else "" if value == [] else json.dumps(value, ensure_ascii=False)


def check_out(out: Path | None, file: Path | None) -> None:
    """Raise a `ValueError` if answers cannot be written to a file."""
    if out is None:
        return
    if out.suffix.lower() not in FORMATS:
        raise ValueError(f"received --out {out}: expected a file named {', '.join(FORMATS)}.")
    place = resolved(out)
    if place.is_dir():
        raise ValueError(f"received --out {out}, which is a folder: expected a file.")
    if not place.parent.is_dir():
        raise ValueError(f"received --out {out}: there is no folder {place.parent}.")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise ValueError(f"received --out {out}, which may not be written. Allow it, or give another file.")
    check_new_file("--out", out, file)


@contextmanager
def written(out: Path | None) -> Iterator[Write]:
    """Yield a function that writes an answer, as it comes, to a file or to the terminal.

    A file is written as FILE.partial-PROCESS, and moved to its place once it is complete. A pipe, a device, or a file
    in a folder that may not be written is written in place.

    Raises:
        AfterSaving: An error within the context, which is the cause; the message says where the answers so far are.
    """
    if out is None:
        yield print_json
        return
    out = out.resolve()
    replaced = not out.exists() or (out.is_file() and os.access(out.parent, os.W_OK))
    place = out.with_name(f"{out.name[:LETTERS]}.partial-{os.getpid()}") if replaced else out
    stream = place.open("w", encoding="utf-8", newline="")
    try:
        with no_room_as_error(out, "Make room, and call again."), stream:
            if replaced and out.exists():
                shutil.copymode(out, place)
            yield (
                (lambda answer: _flushed(stream, json_line(answer)))
                if out.suffix.lower() == ".jsonl"
                else _rows(stream, out)
            )
        if replaced:
            shutil.move(place, out)  # it copies if the file cannot be replaced, as a mount in a container
    except (Exception, KeyboardInterrupt) as error:
        if replaced and not place.stat().st_size:
            place.unlink()
            raise
        saved = f"The answers so far are in {place}."
        if isinstance(error, KeyboardInterrupt):
            print(f"\ninterrupted. {saved}", file=sys.stderr)
            raise
        raise AfterSaving(saved) from error


def print_json(answer: Mapping[str, Any], digits: int | None = DIGITS) -> None:
    """Print an answer or a report as a JSON object in one line, escaped if the terminal's encoding is not UTF."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json_line(answer, digits, ascii_only), flush=True)


def json_line(answer: Mapping[str, Any], digits: int | None = DIGITS, ascii_only: bool = False) -> str:
    """Return an answer, or a report, as a JSON object in one line."""
    return json.dumps(as_json(answer, digits), ensure_ascii=ascii_only)


def _flushed(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


def _rows(stream: TextIO, out: Path) -> Write:
    """Return a function that writes answers as rows of a table, below a header."""
    names: list[str] = []
    lines = csv.writer(stream, lineterminator="\n")

    def write(answer: dict[str, Any]) -> None:
        cells = flattened(as_json(answer, DIGITS))
        if not names:
            names.extend(cells)
            put(names)
        put([cells.get(name, "") for name in names])

    def put(row: list[str]) -> None:
        if out.suffix.lower() == ".csv":
            lines.writerow(row)
            stream.flush()
        else:
            _flushed(stream, "\t".join(cell.translate(SPACES) for cell in row))

    return write
