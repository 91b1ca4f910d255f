"""Files of texts and labels, as the verbs read them."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.data.sources.conversations import read_conversations
from keras_transformers.data.sources.text_tables import (
    Table,
    check_columns,
    check_strings,
    place_of,
    read_rows,
    read_table,
    read_whole,
)
from keras_transformers.text.files.packed import kind_of
from keras_transformers.text.files.records import FORMATS, is_table
from zoo.cli.conversations_file import CONVERSATIONS, of_messages
from zoo.terminal.environment import standard_lines

Row = tuple[Any, ...]  # a text, and perhaps what goes with it
WHOLE = re.compile(r"-?\d+(\.0+)?", re.ASCII)  # a whole number


class Columns(NamedTuple):
    """The columns of a file, names or numbers from 0 in a file without a header; and how its bytes are read."""

    text: str | int = "text"
    text_pair: str | int | None = None
    label: str | int | None = None
    encoding: str = "utf-8"
    errors: str = "strict"

    @property
    def reading(self) -> dict[str, str]:
        """Return the encoding, and what is done with bytes that are no text."""
        return {"encoding": self.encoding, "errors": self.errors}

    @property
    def label_column(self) -> str | int:
        """Return the column of the labels: `label`, if none was named."""
        return "label" if self.label is None else self.label

    def labelled(self) -> Columns:
        """Return the columns with one of labels."""
        return self._replace(label=self.label_column)


def check_header(path: Path | None, columns: Columns) -> None:
    """Raise a `ValueError` if a table lacks a column, before Keras is imported.

    CSV needs all columns. Other files may have the format of a task, and the task is not known yet: JSON and Parquet
    need the columns that the user named, and TSV needs them if the column of texts is among them.
    """
    if path is None or not is_table(path) or columns.text == CONVERSATIONS:
        return
    named = [column for column in columns[:3] if column is not None]
    if (kind := kind_of(path)) != ".csv" and columns.text == Columns().text:
        named = named[1:] if kind != ".tsv" or columns.text_pair is not None else []
    if named:
        check_columns(path, named, **columns.reading)


def read_labelled(path: Path, columns: Columns, problem: str) -> Table:
    """Return a table with labels as the problem has them: a name, several names separated by `|`, or a number."""
    table = read_table(path, *columns.labelled())
    labels = []
    for number, value in enumerate(table.labels or (), 1):
        try:
            labels.append(parse_label(value, problem))
        except (AttributeError, TypeError, ValueError):
            place = place_of(path, columns.label_column, number, **columns.reading)
            raise ValueError(f"{place}: {value!r} is no label for the problem {problem}.") from None
    return table._replace(labels=labels if problem == "regression" else _whole_numbers(labels))


def _whole_numbers(labels: list[Any]) -> list[Any]:
    """Return labels unchanged; if all are whole numbers, "1.0" (of a column that had gaps) becomes "1"."""
    if not all(WHOLE.fullmatch(name) for label in labels for name in (label if isinstance(label, list) else [label])):
        return labels
    return [[_whole(name) for name in label] if isinstance(label, list) else _whole(label) for label in labels]


def _whole(name: str) -> str:
    return name.partition(".")[0] if WHOLE.fullmatch(name) else name


def parse_label(value: Any, problem: str) -> str | list[str] | float:
    """Return a label as `Task.fit` takes it.

    Raises:
        ValueError: It is none of the problem.
    """
    if problem == "regression":
        number = float(value)
        if not math.isfinite(number):
            raise ValueError("expected a finite number")
        return number
    if problem == "multi_label":
        names = value if isinstance(value, list) else value.split("|")
        return [name for name in map(str.strip, names) if name]
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or is_nan or isinstance(value, (list, dict)) or not str(value).strip():
        raise ValueError("expected a label")
    return str(value).strip()


def read_pairs(path: Path, columns: Columns) -> Table:
    """Return a table of texts that may have pairs and labels; labels that are all numbers are read as such."""
    table = read_table(path, *columns)
    if table.labels is None:
        return table
    try:
        return table._replace(labels=[parse_label(value, "regression") for value in table.labels])
    except (TypeError, ValueError):  # names
        return table


def label_names(rows: dict[str, list], columns: Columns, problem: str) -> list[str]:
    """Return the sorted names of the classes of rows; for regression the name of the column."""
    if problem == "regression":
        return [name if isinstance(name := columns.label_column, str) else "score"]
    labels = rows["labels"] if problem == "multi_label" else [rows["labels"]]
    names = sorted({name for row in labels for name in row})
    if len(names) < 2 and problem == "single_label":
        raise ValueError(f"all labels of the training file are {names[0]!r}: expected at least two classes.")
    return names


def as_known(path: Path, columns: Columns, rows: dict[str, list], names: Sequence[str], known_to: str) -> list[Any]:
    """Return the labels of rows as names of a model or of another file.

    A label "1" matches the name "1.0", and "1.0" the name "1", unless the same name is there.

    Raises:
        ValueError: A label is not among the names; the message has its row.
    """
    names_by_label = {**{_whole(name): name for name in names}, **{name: name for name in names}}

    def known(label: str, number: int) -> str:
        name = names_by_label.get(label, names_by_label.get(_whole(label)))
        if name is None:
            place = place_of(path, columns.label_column, number, **columns.reading)
            raise ValueError(f"{place}: unknown label {label!r}; the labels of {known_to} are {[*names]}.")
        return name

    return [
        [known(name, number) for name in label] if isinstance(label, list) else known(label, number)
        for number, label in enumerate(rows["labels"], 1)
    ]


def requests(texts: list[str], file: Path | None, columns: Columns, kind: Any = None) -> Table:
    """Return the texts to answer: the arguments, the texts of a file, or the lines of stdin.

    Args:
        texts: The arguments; of a task that needs pairs, each text and then its second one, or one text and its
            choices.
        file: A table; or, if no column is named, a file in the format of the task.
        columns: The columns of a table.
        kind: The `Kind` of task.
    """
    if texts or not file:
        texts = given(texts, file, **columns.reading)
        if kind is not None and kind.lists_pairs:
            return choices_of(kind.name, texts)
        return paired(kind.name, texts) if kind is not None and kind.needs_pairs else Table(texts, None, None)
    if kind is None or not of_task(file, columns, kind):
        return read_table(file, columns.text, columns.text_pair, **columns.reading)
    read, _, *pairs = kind.read(file, labelled=False, **columns.reading)
    return Table([as_text(text) for text in read], pairs[0] if pairs else None, None)


def of_task(file: Path, columns: Columns, kind: Any) -> bool:
    """Return whether a file has the format of a task rather than columns of texts."""
    return kind.read is not None and kind_of(file) != ".csv" and columns[:2] == Columns()[:2]


def checked_texts(texts: list[str], file: Path | None, columns: Columns) -> Iterator[str]:
    """Return an iterator of the texts that are not in a file, and check a file as far as possible without the task.

    Lines of stdin are read as they are asked for, except the first: there must be one.
    """
    if file and not texts:
        check_header(file, columns)
        return iter(())
    lines = iter(()) if texts else standard_lines(**columns.reading)
    first = next(lines, None)
    return iter(given(texts, file)) if first is None else chain([first], lines)


def rows_of(texts: Iterator[str], file: Path | None, columns: Columns, kind: Any) -> Iterator[Row]:
    """Return an iterator of the rows of `requests`; rows of a table and lines are read as they are asked for."""
    if file is not None and not of_task(file, columns, kind):
        return table_rows(file, [name for name in columns[:2] if name is not None], **columns.reading)
    if file is None and not (kind.needs_pairs or kind.lists_pairs):
        return zip(texts)
    table = requests([*texts], file, columns, kind)
    return zip(*(column for column in table[:2] if column is not None), strict=True)


def table_rows(file: Path, names: list[str | int], **reading: str) -> Iterator[Row]:
    """Yield the texts of a table with their second texts; a `ValueError` names the row of a value that is no string."""
    for number, row in enumerate(read_rows(file, names, **reading), 1):
        for name, value in zip(names, row, strict=True):
            check_strings(file, name, [value], number, **reading)
        yield tuple(row)


def choices_of(name: str, texts: list[str]) -> Table:
    """Return a table of one text and the list of its choices."""
    if len(texts) < 2:
        raise ValueError(f"{name} takes a text and its choices: received one text. Give the choices after it.")
    return Table(texts[:1], [texts[1:]], None)


def paired(name: str, texts: list[str]) -> Table:
    """Return a table of pairs from texts, each followed by its second text."""
    if len(texts) % 2:
        raise ValueError(f"{name} takes pairs: received {len(texts)} texts. Give each text and then its second one.")
    return Table(texts[::2], texts[1::2], None)


def as_text(text: str | list[str]) -> str:
    """Return a text, or words joined to one."""
    return text if isinstance(text, str) else " ".join(text)


def given(texts: list[str], file: Path | None = None, encoding: str = "utf-8", errors: str = "strict") -> list[str]:
    """Return the arguments, or the lines of a text file, or the lines of stdin."""
    if texts and file:
        raise ValueError("received both texts and --file: give one of them.")
    if file:
        texts = read_lines(file, encoding, errors)
        if not texts:
            raise ValueError(f"{file} is empty: expected one text per line.")
    elif not texts:
        texts = [*standard_lines(encoding, errors)]
    if not texts:
        raise ValueError("received no text: give texts, --file, or lines on stdin.")
    return texts


def read_lines(path: Path, encoding: str, errors: str) -> list[str]:
    """Return the lines of a text file, blank ones too."""
    return [line.rstrip("\r\n") for line in io.StringIO(read_whole(path, encoding, errors), newline="\n")]


def read_texts(path: Path, columns: Columns) -> Table:
    """Return texts for a language model: one text per line, or a table, perhaps with the targets to write as labels."""
    if is_table(path):
        table = read_table(path, columns.text, label=columns.label, **columns.reading)
        if columns.label is not None:
            check_strings(path, columns.label, table.labels or (), 1, **columns.reading)
        return table
    if columns.label is not None:
        raise ValueError(
            f"{path} is text without columns, so none is {columns.label!r}: expected a file named {', '.join(FORMATS)}."
        )
    texts = [line for line in read_lines(path, **columns.reading) if line.strip()]
    if not texts:
        raise ValueError(f"{path} contains no text: expected one text per line.")
    return Table(texts, None, None)


def examples_of(kind: Any, path: Path, columns: Columns, problem: str | None = None) -> dict[str, Any]:
    """Return the examples of a file: arguments of `dataset`, `fit` and `evaluate` of a task, by name.

    Args:
        kind: The `Kind` of task.
        path: The file.
        columns: Columns of the file.
        problem: The problem, if the task has labels.
    """
    if kind.takes_documents:
        from keras_transformers.data.sources.documents import read_documents

        return {"texts": [*read_documents(path, **columns.reading)]}
    if kind.read is not None:
        if columns[:2] != Columns()[:2]:
            raise ValueError(f"{kind.name} reads files without columns of texts: leave --text and --text-pair out.")
        return dict(zip(("texts", "labels", "pairs"), kind.read(path, columns.label, **columns.reading), strict=False))
    if kind.takes_messages and of_messages(path, columns.text, columns[:3] != Columns()[:3], **columns.reading):
        return {"texts": read_conversations(path, **columns.reading)}
    if kind.writes_text:
        table = read_texts(path, columns)
    elif kind.needs_labels:
        table = read_labelled(path, columns, (problem or "single_label") if "labels" in kind.options else "regression")
    elif kind.takes_pairs:
        table = read_pairs(path, columns)
    else:
        table = read_table(path, columns.text, **columns.reading)
    return {name: column for name, column in table._asdict().items() if column is not None}
