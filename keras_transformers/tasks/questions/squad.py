"""Read questions, contexts and answers from files in the format of SQuAD, versions 1.1 and 2.0."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.data.sources.text_tables import read_whole
from keras_transformers.tasks.questions.given_answers import Answer, misplaced, read_answers


class Squad(NamedTuple):
    """The questions of a file: one entry of each list a question."""

    questions: list[str]
    contexts: list[str]
    answers: list[list[Answer]]  # an empty list if the context has no answer
    ids: list[str]


def read_squad(path: str | Path, labelled: bool = True, encoding: str = "utf-8", errors: str = "strict") -> Squad:
    """Read questions from a JSON file as SQuAD, XQuAD and others have it.

    The format: `{"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text",
    "answer_start"}], "is_impossible"}]}]}]}`, where `title` and `is_impossible` may be missing.
    Papers: Rajpurkar et al. 2016, https://arxiv.org/abs/1606.05250; 2018, https://arxiv.org/abs/1806.03822.

    Args:
        path: the file.
        labelled: bool. If False, answers are not read and may be missing.
        encoding, errors: as for `keras_transformers.data.sources.text_tables.read_table`.

    Returns:
        `Squad(questions, contexts, answers, ids)`. An answer is (start, text), in characters of its context; a question
        that `is_impossible` has none. Ids are strings.

    Raises:
        ValueError: there is no such file, it has another format or no questions, or an answer is not at its place. The
            message names the article, the paragraph, and the id of the question.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.json")
    >>> question = {"id": "1", "question": "Where?", "answers": [{"text": "Oslo", "answer_start": 10}]}
    >>> paragraph = {"context": "Ann is in Oslo.", "qas": [question]}
    >>> _ = path.write_text(json.dumps({"data": [{"title": "Ann", "paragraphs": [paragraph]}]}))
    >>> read_squad(path)
    Squad(questions=['Where?'], contexts=['Ann is in Oslo.'], answers=[[(10, 'Oslo')]], ids=['1'])
    """
    path = Path(path)
    try:
        content = json.loads(read_whole(path, encoding, errors))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON ({error}). Expected one object in the format of SQuAD.") from None
    except RecursionError:
        raise ValueError(f"{path}: JSON nested too deeply. Expected one object in the format of SQuAD.") from None
    rows = list(_rows(content, str(path), labelled))
    if not rows:
        raise ValueError(f"{path}: no questions; expected at least one.")
    return Squad(*map(list, zip(*rows, strict=True)))


def _rows(content: Any, where: str, labelled: bool) -> Iterator[tuple]:
    """Yield question, context, answers and id of each question."""
    for a, article in enumerate(_value(content, "data", list, where), 1):
        title = article.get("title") if isinstance(article, dict) else None
        of_article = f"{where}, article {a}" + (f" ({title!r})" if title else "")
        for p, paragraph in enumerate(_value(article, "paragraphs", list, of_article), 1):
            of_paragraph = f"{of_article}, paragraph {p}"
            context = _value(paragraph, "context", str, of_paragraph)
            for q, entry in enumerate(_value(paragraph, "qas", list, of_paragraph), 1):
                yield _row(entry, context, f"{of_paragraph}, question", q, labelled)


def _row(entry: Any, context: str, where: str, number: int, labelled: bool) -> tuple:
    name = entry.get("id") if isinstance(entry, dict) else None
    where = f"{where} {number if name is None else repr(name)}"
    question = _value(entry, "question", str, where)
    is_impossible = labelled and "is_impossible" in entry and _value(entry, "is_impossible", bool, where)
    answers = _answers(entry, context, where) if labelled and not is_impossible else []
    return question, context, answers, str(number if name is None else name)


def _answers(entry: dict[str, Any], context: str, where: str) -> list[Answer]:
    given = _value(entry, "answers", list, where)
    try:
        answers = read_answers(given)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    for answer in answers:
        if wrong := misplaced(context, answer):
            raise ValueError(f"{where}: {wrong}. Places count characters (code points), from 0.")
    return answers


def _value(record: Any, name: str, kind: type, where: str) -> Any:
    """Return the value of a key, or raise a `ValueError` if it is missing or has another type."""
    if not isinstance(record, dict) or name not in record:
        keys = ", ".join(map(repr, record)) if isinstance(record, dict) else type(record).__name__
        raise ValueError(f"{where}: expected an object with {name!r}, as SQuAD has it; received {keys or 'none'}.")
    if not isinstance(record[name], kind):
        raise ValueError(f"{where}: {name!r} is {str(record[name])[:60]!r}; expected a {kind.__name__}.")
    return record[name]
