"""Pairs of texts from two files with as many lines, or from two columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from keras_transformers.data.sources.text_tables import FORMATS, check_strings, read_rows
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.utils.untrusted import check_file

COLUMNS = ("source", "target")  # of a table with a header
SHOWN = 60  # characters of a line in a message

Column = str | int


class Pairs(NamedTuple):
    """Texts and what is to be written for them: `sources` and `targets` in one order, and the `places` of both sides,
    such as `a.en, line {}`, for messages.
    """

    sources: list[str]
    targets: list[str]
    places: tuple[str, str] = ("source {}", "target {}")

    def chosen(self, numbers: Sequence[int]) -> Pairs:
        """Return the pairs of these numbers."""
        sources, targets = ([side[number] for number in numbers] for side in self[:2])
        return Pairs(sources, targets, self.places)

    def place(self, side: int, number: int) -> str:
        """Return where the text of a pair stands, for a message: side 0 or 1, and the number of the pair from 0."""
        return self.places[side].format(number + 1)


def read_line_pairs(source: str | Path, target: str | Path, encoding: str = "utf-8") -> Pairs:
    """Read two files in which the lines of one number belong together; `.gz` is decompressed.

    Lines end with a line feed, perhaps after a carriage return; blank lines are kept, as they count.

    Args:
        source, target: Files.
        encoding: Of both.

    Raises:
        ValueError: They have unlike numbers of lines (the message has both, and the last line of each); it is one file;
            a file is missing, empty, or no text in this encoding.

    Example:

    >>> import tempfile
    >>> english, german = (Path(tempfile.mkdtemp(), name) for name in ("a.en", "a.de"))
    >>> _ = english.write_text("Hi.\\nRun!\\n"), german.write_text("Hallo!\\nLauf!\\n")
    >>> read_line_pairs(english, german)[:2]
    (['Hi.', 'Run!'], ['Hallo!', 'Lauf!'])
    """
    source, target = Path(source), Path(target)
    for path in (source, target):
        check_file(path)
    if source.samefile(target):
        raise ValueError(f"{source} is both source and target: expected two files.")
    sides = [_lines(path, encoding) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(_unlike((source, target), sides))
    return Pairs(sides[0], sides[1], (f"{source}, line {{}}", f"{target}, line {{}}"))


def _lines(path: Path, encoding: str) -> list[str]:
    text = "".join(TextFiles(path, encoding=encoding))
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _unlike(paths: Sequence[Path], sides: Sequence[list[str]]) -> str:
    """Return the message for files with unlike numbers of lines."""
    short, long = sorted((0, 1), key=lambda side: len(sides[side]))
    last = len(sides[short])
    return (
        f"{paths[0]} has {len(sides[0]):,} lines and {paths[1]} has {len(sides[1]):,}: expected as many, as lines of "
        f"one number belong together. The last line of {paths[short]}, {last}, is {_cut(sides[short][last - 1])!r}; "
        f"line {last} of {paths[long]} is {_cut(sides[long][last - 1])!r}, and its last, {len(sides[long])}, is "
        f"{_cut(sides[long][-1])!r}. Look where they begin to differ: a text may hold a line end."
    )


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."


def read_table_pairs(
    path: str | Path, source: Column | None = None, target: Column | None = None, encoding: str = "utf-8"
) -> Pairs:
    """Read two columns of a table.

    Args:
        path: `.csv` (with header), `.tsv` or `.txt` (texts parted by tabs; a header only if columns are named) or
            `.jsonl`. Texts without header may be compressed (`.gz`).
        source, target: Names, or numbers from 0 without a header; when None `source` and `target`, or 0 and 1 where
            texts are parted by tabs.
        encoding: Of texts parted by tabs without a header; the others are UTF-8.

    Raises:
        ValueError: A column is missing, both are one, a row has too few, a value is no string, or there are no rows.
            The message has the file and the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "pairs.tsv")
    >>> _ = path.write_text("Hi.\\tHallo!\\tby CK\\n")
    >>> read_table_pairs(path)[:2]
    (['Hi.'], ['Hallo!'])
    """
    path = Path(path)
    check_file(path)
    ending = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    has_tabs = ending not in (".csv", ".jsonl")
    usual: tuple[Column, Column] = (0, 1) if has_tabs and not isinstance(source or target, str) else COLUMNS
    columns = [own if given is None else given for given, own in zip((source, target), usual, strict=True)]
    if columns[0] == columns[1]:
        raise ValueError(
            f"--source-column and --target-column are both {columns[0]!r}: expected two columns of {path}."
        )
    if has_tabs and all(isinstance(column, int) for column in columns):
        rows = _tab_rows(path, [int(column) for column in columns], encoding)
    elif path.suffix.lower() in FORMATS:
        rows = _table_rows(path, columns)
    else:
        raise ValueError(f"{path}: expected a file named {', '.join(FORMATS)} for columns with names. Rename it.")
    sources, targets = (list(side) for side in zip(*rows, strict=True))
    places = [f"{path}, row {{}}, column {column!r}" for column in columns]
    return Pairs(sources, targets, (places[0], places[1]))


def _table_rows(path: Path, columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    for number, row in enumerate(read_rows(path, columns), 1):
        for column, value in zip(columns, row, strict=True):
            check_strings(path, column, [value], first=number)
        yield tuple(row)


def _tab_rows(path: Path, columns: Sequence[int], encoding: str) -> Iterator[tuple[str, ...]]:
    """Yield columns of a file without header; further columns, such as authors, may be there."""
    is_empty = True
    for number, line in enumerate(_lines(path, encoding), 1):
        fields = line.split("\t")
        if not line.strip():
            continue
        if len(fields) <= max(columns):
            raise ValueError(
                f"{path}, line {number}: no column {max(columns)}, counted from 0: {len(fields)} texts parted by tabs: "
                f"{_cut(line)!r}. Expected a tab between source and target; or two files, --source and --target."
            )
        is_empty = False
        yield tuple(fields[column] for column in columns)
    if is_empty:
        raise ValueError(f"{path}: no rows; expected at least one.")
