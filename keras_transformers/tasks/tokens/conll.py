"""Read words and their labels from CoNLL and CoNLL-U files, and annotated texts from JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from keras_transformers.data.sources.text_tables import read_whole
from keras_transformers.text.files.decoded_blocks import check_encoding, check_errors
from keras_transformers.text.files.json_records import JSON_LINES, Record, json_lines
from keras_transformers.text.files.packed import kind_of
from keras_transformers.utils.number_checks import is_size, is_token_id
from keras_transformers.utils.untrusted import check_file

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
LINE_END = re.compile("\r{0,2}\n|\r")  # of Windows, of Windows written as text once more, and of old Macs
ROW_NUMBER = re.compile(r"\d+([-.]\d+)?")
Sentences = tuple[list, Any]  # one entry a text: words, or a str; and their labels, or spans
Line = tuple[str, str]  # a line, and the beginning of errors about it
Row = Any  # (word, label), or None between sentences


def read_annotated(
    path: str | Path,
    column: str | int | None = None,
    labelled: bool = True,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Sentences:
    """Read texts with labelled words, or with entities, from a file of CoNLL, CoNLL-U or JSON lines.

    Args:
        path: a file; `.jsonl`, `.jsonlines` and `.ndjson` are JSON lines, `.conllu` is CoNLL-U, any other suffix
            CoNLL. A line of JSON is `{"words": [...], "labels": [...]}` or `{"text": "...", "entities": [{"start",
            "end", "label"}]}`, in characters from `start` to before `end`.
        column: of CoNLL and CoNLL-U: see `read_conll`.
        labelled: bool. If False, labels are not read and may be missing.
        encoding, errors: as for `keras_transformers.data.sources.text_tables.read_table`.

    Returns:
        Texts and labels for a token classifier: lists of words and of labels; or texts and lists of
        (start, end, label). Labels are None if `labelled` is False.

    Raises:
        ValueError: the file has another format, or as from `read_conll`. The message names the line.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "entities.jsonl")
    >>> _ = path.write_text('{"text": "Ann left", "entities": [{"start": 0, "end": 3, "label": "person"}]}')
    >>> read_annotated(path)
    (['Ann left'], [[(0, 3, 'person')]])
    """
    path = Path(path)
    suffix = kind_of(path)
    if suffix == ".csv":
        raise ValueError(f"Received {path}: expected CoNLL (.conll, .txt, ...), CoNLL-U (.conllu) or JSON lines.")
    if suffix not in JSON_LINES:
        return read_conll(path, column, labelled, encoding, errors)
    if column is not None:
        raise ValueError(f"{path} is JSON lines, which have no column {column!r}: leave it out.")
    check_file(path)
    records = json_lines(path, check_encoding(encoding), check_errors(errors))
    examples = [_example(record, f"{path}, line {number}", labelled) for number, record in records]
    return _not_empty(path, [text for text, _ in examples], [labels for _, labels in examples], labelled)


def read_conll(
    path: str | Path,
    column: str | int | None = None,
    labelled: bool = True,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Sentences:
    """Read sentences as words and labels from a CoNLL file: a word a line, and blank lines between sentences.

    Columns are separated by tabs, or by spaces where a line has no tab. The words are in the first one. In CoNLL-U,
    from a file named `.conllu`, they are forms: ranges ("1-2") and empty nodes ("1.1") are left out.

    In CoNLL, lines that begin with `-DOCSTART-` are left out, and so are comments: lines before the first word of a
    sentence that begin with "# " and have another number of columns than the first row of the file, or an equals sign.

    Args:
        path: the file.
        column: of the labels, a number from 0; in CoNLL-U also its name. None for the last, and in CoNLL-U for "upos".
        labelled: bool. If False, labels are not read and may be missing.
        encoding, errors: as for `keras_transformers.data.sources.text_tables.read_table`.

    Returns:
        The words of each sentence, and their labels (None if `labelled` is False).

    Raises:
        ValueError: there is no such file, a row has another number of columns than the first one, a label or the column
            of labels is missing, a sentence has no words, bytes are of another encoding, or there are no rows. The
            message names the line.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.conll")
    >>> _ = path.write_text("Ann\\tB-person\\nleft\\tO\\n\\nHi\\tO\\n")
    >>> read_conll(path)
    ([['Ann', 'left'], ['Hi']], [['B-person', 'O'], ['O']])
    """
    path = Path(path)
    rows_of = _conllu_rows if kind_of(path) == ".conllu" else _conll_rows
    rows = [None, *rows_of(path, _lines(read_whole(path, encoding, errors), path), column, labelled)]
    words: list[list[str]] = []
    labels: list[list[str]] = []
    for last, row in pairwise(rows):
        if row is not None and last is None:
            words.append([])
            labels.append([])
        if row is not None:
            words[-1].append(row[0])
            labels[-1].append(row[1])
    return _not_empty(path, words, labels, labelled)


def _not_empty(path: Path, texts: list, labels: list, labelled: bool) -> Sentences:
    if not texts:
        raise ValueError(f"{path}: no rows; expected at least one.")
    return texts, labels if labelled else None


def _lines(text: str, path: Path) -> Iterator[Line]:
    """Yield each line, stripped of spaces and tabs, and the beginning of errors about it."""
    # Not by `splitlines` and `strip` alone, which treat U+2028 and other characters of a word as white space.
    for number, line in enumerate(LINE_END.split(text), 1):
        yield line.strip(" \t"), f"{path}, line {number}"


def _fields(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else [field for field in line.split(" ") if field]


def _conll_rows(path: Path, lines: Iterable[Line], column: Any, labelled: bool) -> Iterator[Row]:
    """Yield word and label of each row, and None between sentences."""
    lines = [(line, where) for line, where in lines if not line.startswith("-DOCSTART-")]
    first, begin = next(((line, where) for line, where in lines if line and not line.startswith("# ")), (None, ""))
    if first is None:
        return
    if first[0] in "[{" and _is_json(first):
        raise ValueError(f"{begin}: JSON, where CoNLL was expected. Write one object a line into a file named .jsonl.")
    width, inside = len(_fields(first)), False
    place = _place(path, column, width) if labelled else 0
    for line, where in lines:
        is_comment = line.startswith("# ") and ("=" in line or len(_fields(line)) != width)
        if not line:
            yield None
        elif inside or not is_comment:
            yield _row(_fields(line), 0, place, width, where)
        inside = bool(line) and (inside or not is_comment)


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), (list, dict))
    except (ValueError, RecursionError):
        return False


def _place(path: Path, column: Any, width: int) -> int:
    if width == 1:
        raise ValueError(f"{path}: the first row has one column; expected a word and its label in each row.")
    if column is None:
        return width - 1
    if not is_size(column) or column >= width:
        raise ValueError(f"{path}: no column {column!r} of labels; expected a number from 1 to {width - 1}.")
    return column


def _conllu_rows(path: Path, lines: Iterable[Line], column: Any, labelled: bool) -> Iterator[Row]:
    """Yield word and label of each row, and None between sentences."""
    form, place = CONLLU_COLUMNS.index("form"), _conllu_place(path, column)
    begun = has_words = False
    for line, where in lines:
        if not line and begun and not has_words:
            raise ValueError(f"{where}: the sentence before has no words.")
        if not line:
            yield None
        number = _fields(line)[0] if line and not line.startswith("#") else ""
        if number and not ROW_NUMBER.fullmatch(number):
            raise ValueError(f"{where}: expected a row of CoNLL-U, which begins with a number: received {line!r}.")
        if number.isdecimal():
            yield _row(_fields(line), form, place if labelled else form, len(CONLLU_COLUMNS), where)
        begun, has_words = bool(line), bool(line) and (has_words or number.isdecimal())


def _conllu_place(path: Path, column: Any) -> int:
    column = "upos" if column is None else column
    place = CONLLU_COLUMNS.index(column) if column in CONLLU_COLUMNS else column
    if not is_token_id(place, len(CONLLU_COLUMNS)):
        raise ValueError(f"{path}: no column {column!r} of labels; expected one of {', '.join(CONLLU_COLUMNS)}.")
    return place


def _row(fields: list[str], word: int, label: int, width: int, where: str) -> tuple[str, str]:
    if len(fields) != width:
        raise ValueError(f"{where}: {len(fields)} columns; expected {width}: {fields}.")
    if not fields[word] or not fields[label]:
        raise ValueError(f"{where}: the {'word' if fields[label] else 'label'} is empty: {fields}.")
    return fields[word], fields[label]


def _example(record: Record, where: str, labelled: bool) -> tuple[Any, list]:
    """Return text and labels of a line of JSON."""
    if record.twice:
        raise ValueError(f"{where}: the object has {record.twice[0]!r} more than once.")
    keys = record.keys()
    if "words" in keys and (not labelled or "labels" in keys):
        words = _list_of(record, "words", str, "strings", where)
        return words, _list_of(record, "labels", str, "strings", where) if labelled else []
    if "text" not in keys or (labelled and "entities" not in keys):
        expected = '{"words": [...], "labels": [...]} or {"text": "...", "entities": [...]}'
        raise ValueError(f"{where}: expected {expected}; the line has {', '.join(keys) or 'none'}.")
    if not isinstance(record["text"], str):
        raise ValueError(f"{where}: 'text' is {record['text']!r}; expected a string.")
    entities = _list_of(record, "entities", dict, "objects", where) if labelled else []
    return record["text"], [_span(entity, where) for entity in entities]


def _list_of(record: dict[str, Any], name: str, kind: type, what: str, where: str) -> list:
    if not isinstance(record[name], list) or not all(isinstance(value, kind) for value in record[name]):
        raise ValueError(f"{where}: {name!r} is {record[name]!r}; expected a list of {what}.")
    return record[name]


def _span(entity: dict[str, Any], where: str) -> tuple[int, int, str]:
    types: dict[str, Callable] = {"start": int, "end": int, "label": str}
    if any(type(entity.get(name)) is not kind for name, kind in types.items()):
        raise ValueError(f'{where}: an entity is {entity}; expected {{"start": 0, "end": 3, "label": "person"}}.')
    return entity["start"], entity["end"], entity["label"]
