"""Pairs of texts from two files with as many lines, or from two columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, product
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.text.files.decoded_blocks import check_encoding, check_errors, lines_of
from keras_transformers.text.files.packed import kind_of
from keras_transformers.text.files.records import (
    FORMATS,
    JSON,
    PARQUET,
    is_table,
    names_of,
    objects,
    place,
    read_records,
)
from keras_transformers.text.files.separated import hint_of_row, open_separated
from keras_transformers.text.files.zipped import parts_of
from keras_transformers.utils.untrusted import check_file, shown
from zoo.scratch.pairs.pair_columns import (
    COLUMNS,
    REMEDY,
    check_is_no_header,
    check_unnamed,
    completed,
    moses_files,
    named_pair,
    resolved_language,
    unnamed_pair,
)
from zoo.scratch.pairs.tmx import tmx_units

LOOKED_AT = 100  # rows, for what columns without names hold
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


def read_line_pairs(source: str | Path, target: str | Path, encoding: str = "utf-8", errors: str = "strict") -> Pairs:
    """Read two files, which may be compressed, in which the lines of one number belong together.

    Lines end with a line feed, perhaps after a carriage return; blank lines are kept, as they count.

    Args:
        source, target: Files.
        encoding, errors: As for `TextFiles`, for both files.

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
    return _line_pairs(source, target, encoding, errors)


def _line_pairs(source: Path, target: Path, encoding: str, errors: str) -> Pairs:
    sides = [_lines(path, encoding, errors) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(_unlike((source, target), sides))
    begins = [_escaped(str(path)) for path in (source, target)]
    return Pairs(sides[0], sides[1], (f"{begins[0]}, line {{}}", f"{begins[1]}, line {{}}"))


def _lines(path: Path, encoding: str, errors: str) -> list[str]:
    if is_table(path):
        raise ValueError(
            f"{path} is a table, not a file with one text per line: give --pairs {path.name}, or name it .txt."
        )
    lines = [*lines_of(path, check_encoding(encoding), check_errors(errors))]
    if not lines:
        raise ValueError(f"{path} contains no text. Give another file.")
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]


def _unlike(paths: Sequence[Path], sides: Sequence[list[str]]) -> str:
    """Return the message for files with unlike numbers of lines."""
    short, long = sorted((0, 1), key=lambda side: len(sides[side]))
    last = len(sides[short])
    return (
        f"{paths[0]} has {len(sides[0]):,} lines and {paths[1]} has {len(sides[1]):,}: expected the same number, as "
        f"line N of one file belongs to line N of the other. The last line of {paths[short]}, {last}, is "
        f"{_cut(sides[short][last - 1])!r}; line {last} of {paths[long]} is {_cut(sides[long][last - 1])!r}, and its "
        f"last, {len(sides[long])}, is {_cut(sides[long][-1])!r}. Check where they begin to differ: a text may hold a "
        "line end."
    )


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."


def read_table_pairs(
    path: str | Path,
    source: Column | None = None,
    target: Column | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Pairs:
    """Read two columns of a table.

    Args:
        path: `.csv` (with header; commas, semicolons or tabs), `.tsv` or `.txt` (texts separated by tabs, with or
            without header), `.jsonl`, `.json`, `.parquet` or `.tmx`; it may be compressed. Or a `.zip` of two files
            with one text per line, such as `Books.de-en.de` and `Books.de-en.en`.
        source, target: Names, or numbers from 0 without a header; of `.tmx` and such a `.zip`, languages. When None,
            the columns whose names say so: `source` and `target`, `src` and `tgt`, or two languages, also within
            `translation`. For tab-separated texts without such names, 0 and 1; or the text columns
            of `id, text, id, text`.
        encoding, errors: As for `TextFiles`; not of `.parquet` and `.tmx`.

    Raises:
        ValueError: A column is missing, both are one, it is not clear which ones are meant, a row has too few, a value
            is no string, or there are no rows. The message has the file and the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "pairs.tsv")
    >>> _ = path.write_text("Hi.\\tHallo!\\tby CK\\n")
    >>> read_table_pairs(path)[:2]
    (['Hi.'], ['Hallo!'])
    """
    path = Path(path)
    check_file(path)
    encoding, errors = check_encoding(encoding), check_errors(errors)
    if source is not None and source == target:
        raise _both(path, source)
    if below := [column for column in (source, target) if isinstance(column, int) and column < 0]:
        raise ValueError(f"{path}: received {below[0]} as a column: expected a name, or a number from 0.")
    if len(parts := parts_of(path)) > 1:
        return _line_pairs(*moses_files(path, parts, source, target), encoding, errors)
    kind = kind_of(path)
    if kind == ".tmx":
        columns, rows = _of_tmx(path, source, target)
    elif kind in (*JSON, PARQUET):
        columns, rows = _of_objects(path, source, target, encoding, errors)
    else:
        columns, rows = _of_fields(path, kind, source, target, encoding, errors)
    if not rows:
        raise ValueError(f"{path}: no rows; expected at least one.")
    sources, targets = (list(side) for side in zip(*rows, strict=True))
    begin, *ends = (_escaped(str(part)) for part in (path, *map(repr, columns)))
    return Pairs(sources, targets, (f"{begin}, row {{}}, column {ends[0]}", f"{begin}, row {{}}, column {ends[1]}"))


def _both(path: Path, column: Column) -> ValueError:
    return ValueError(f"--source-column and --target-column are both {column!r}: expected two columns of {path}.")


def _escaped(text: str) -> str:
    """Return text that `str.format` leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def _of_objects(
    path: Path, source: Column | None, target: Column | None, encoding: str, errors: str
) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and the rows, of a JSON or Parquet file."""
    first = next(objects(path, encoding, errors), None)
    columns = list(COLUMNS) if first is None else completed(path, (source, target), names_of(first[1]))
    rows = []
    for number, row in read_records(path, columns, encoding, errors, REMEDY):
        for column, value in zip(columns, row, strict=True):
            if not isinstance(value, str):
                raise ValueError(f"{place(path, number)}: {column!r} is {shown(value)}; expected a string.")
        rows.append(row)
    return columns, rows


def _of_tmx(path: Path, source: Column | None, target: Column | None) -> tuple[list[str], list[list[str]]]:
    """Return the languages, and the rows, of a TMX file: each source of a unit with each of its targets. A text that a
    unit lacks is empty.
    """
    units = [unit.texts for unit in tmx_units(path)]
    names = list(dict.fromkeys(name for unit in units for name in unit))
    given = [None if one is None else resolved_language(str(one), names) for one in (source, target)]
    if None in given and len(names) != 2:
        raise ValueError(f"{path}: expected two languages, found {', '.join(names) or 'none'}. {REMEDY}")
    used = [name for name in given if name]
    languages = [name or next(other for other in names if other not in used[:1]) for name in given]
    if not used:
        languages = names
    if missing := [name for name in languages if name not in names]:
        raise ValueError(f"{path}: no language {shown(missing[0])}; the file has {', '.join(names)}. {REMEDY}")
    lacking = [""]
    rows = (product(*(unit.get(name, lacking) for name in languages)) for unit in units)
    return languages, [list(row) for row in chain.from_iterable(rows)]


def _of_fields(
    path: Path, kind: str, source: Column | None, target: Column | None, encoding: str, errors: str
) -> tuple[list[Any], list[list[str]]]:
    """Return names or numbers of the columns, and the rows, of a table of separated fields."""
    names = [column for column in (source, target) if isinstance(column, str)]
    if names and kind not in (".csv", ".tsv", ".txt"):
        raise ValueError(f"{path}: expected a file named {', '.join(FORMATS)} for columns with names. Rename it.")
    accepts = (lambda header: set(names) <= set(header)) if names else named_pair
    table = open_separated(path, kind, encoding, errors, accepts)
    header, found = table.header, named_pair(table.header) or ()
    numbered = {header[column] for column in (source, target) if isinstance(column, int) and column < len(header)}
    is_named = bool(names) or (bool(found) and numbered <= set(found))  # else a row of texts only looks like a header
    rows: Iterator[tuple[int, list[str]]] = (row for row in table.rows if any(field.strip() for field in row[1]))
    if is_named:
        next(rows, None)
    given = (source, target)
    if names or (is_named and given == (None, None)) or (kind == ".csv" and None in given and header):
        columns: list[Any] = _with_hint(path, given, header)
        wanted = [header.index(column) for column in columns]
    else:
        first = list(islice(rows, LOOKED_AT))
        if given == (None, None) and first:
            check_is_no_header(path, first[0][1])
        usual = unnamed_pair([row for _, row in first])
        columns = wanted = [own if one is None else int(one) for one, own in zip(given, usual, strict=True)]
        rows = chain(first, rows)
    if wanted[0] == wanted[1]:
        raise _both(path, columns[0])
    chosen = list(_chosen(path, rows, wanted, len(header) if is_named or kind == ".csv" else None))
    for side, one in enumerate(given):
        if one is None and chosen:
            check_unnamed(path, wanted[side], [row[side] for row in chosen], is_named)
    return columns, chosen


def _with_hint(path: Path, given: Sequence[Column | None], header: Sequence[str]) -> list[str]:
    try:
        columns = completed(path, given, header)
    except ValueError as error:
        raise ValueError(f"{error}{hint_of_row(header)}") from None
    for column in columns:
        if (count := list(header).count(column)) > 1:
            raise ValueError(f"{path}, line 1: {count} columns are named {shown(column)}; rename all but one.")
    return columns


def _chosen(
    path: Path, rows: Iterator[tuple[int, list[str]]], columns: Sequence[int], width: int | None
) -> Iterator[list[str]]:
    """Yield columns; where `width` is None, rows may have further ones, such as authors."""
    for line, row in rows:
        if width is not None and len(row) != width:
            raise ValueError(
                f"{path}, line {line:,}: {len(row)} fields; expected {width} as in the first row.{hint_of_row(row)}"
            )
        if len(row) <= max(columns):
            raise ValueError(
                f"{path}, line {line:,}: no column {max(columns)}, counted from 0: {len(row)} texts separated by tabs: "
                f"{_cut(' '.join(row))!r}. Expected a tab between source and target; or two files, --source and "
                "--target."
            )
        yield [row[column] for column in columns]
