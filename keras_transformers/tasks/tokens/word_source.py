"""Sources of rows with a target for each token, from texts with labelled words or with entities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from keras_transformers.data.sources.rows import Ragged, Rows, tell_cut
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.inputs.sources import rows_of
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.tasks.tokens.label_steps import LabelSteps
from keras_transformers.tasks.tokens.token_targets import (
    NO_TARGET,
    Targets,
    Unit,
    span_targets,
    target_classes,
    units_of,
    word_targets,
)
from keras_transformers.text.encoded import Encoded
from keras_transformers.utils.number_checks import is_size, is_token_id
from keras_transformers.utils.text_checks import check_texts, listed

ROWS = (list, tuple, np.ndarray)
Words = list[Sequence[str]]
Placed = tuple[Encoded, list[Unit]]


def token_source(setup: Setup, labels: TokenLabels, steps: LabelSteps | None = None) -> Callable[..., Rows]:
    """Return the source of a token classifier: a `Parts.source`.

    Args:
        setup: Setup of the task.
        labels: Labels of the task.
        steps: The steps between labels that are allowed, if labels are learned as a chain: each word then has one
            target.
    """

    def source(texts: Any, targets: Any, pairs: Any, *, shuffle: bool = True, whole: bool = False) -> Rows:
        if hasattr(texts, "element_spec"):
            raise ValueError(
                f"{setup.kind.name} takes lists of texts, or of words, and their labels: received a tf.data.Dataset."
            )
        words, texts = read_texts(texts)
        encoded = setup.tokenizer.encode(texts, max_length=setup.max_length)
        if not whole:
            tell_cut([row.truncated for row in encoded], setup.max_length)
        rows = rows_of(encoded, setup.config)
        if targets is None:
            return rows
        targets = check_rows(targets, len(texts))
        units = units_of(encoded, texts) if steps is None else map(_alone, units_of(encoded, texts))
        given = zip(encoded, units, strict=True)
        found = _of_words(given, words, targets, labels, steps) if words else _of_spans(given, texts, targets, labels)
        if whole:
            check_whole(encoded, found, words, setup.max_length)
        if words:
            _tell_lost(found, words)
        numbers = [row.numbers if steps is None else _in_order(row.numbers, steps) for row in found]
        rows = replace(rows, labels=Ragged.of(numbers))
        if shuffle:
            _tell_missing(rows.labels.flat, labels)
        return rows

    return source


def _alone(units: list[Unit]) -> list[Unit]:
    """Return the units without further tokens, which are no words of a prediction."""
    return [unit._replace(others=()) for unit in units]


def _in_order(numbers: list[int], steps: LabelSteps) -> list[int]:
    """Return the targets of a text, without the rests of entities of which words were lost."""
    places = [place for place, number in enumerate(numbers) if number != NO_TARGET]
    classes = target_classes(np.array([numbers[place] for place in places], int)).tolist()
    kept = {places[number] for number in steps.kept(classes)}
    return [number if place in kept else NO_TARGET for place, number in enumerate(numbers)]


def read_texts(texts: Any) -> tuple[Words | None, list[str]]:
    """Return texts given as strings, or as lists of words.

    Returns:
        The words of each text, None if texts are strings; and texts as strings, to which places of predictions refer.

    Raises:
        ValueError: Some texts are words and others are not, or a word is no str, or empty.

    Example:

    >>> read_texts([["Ann", "left"], []])
    ([['Ann', 'left'], []], ['Ann left', ''])
    """
    if isinstance(texts, (str, Mapping)) or not isinstance(texts, Iterable):
        return None, check_texts("texts", texts)  # raises the error
    texts = list(texts)
    are_words = [isinstance(text, ROWS) for text in texts]
    if not any(are_words):
        return None, check_texts("texts", texts)
    if not all(are_words):
        raise ValueError(f"row {are_words.index(False)} is no list of words, and others are: expected one kind.")
    for row, text in enumerate(texts):
        if wrong := [word for word in text if not (isinstance(word, str) and word)]:
            raise ValueError(f"row {row}: expected words, none of them empty: received {wrong[0]!r}.")
    return texts, check_texts("texts", [" ".join(text) for text in texts])


def check_rows(targets: Any, count: int) -> list:
    """Return the labels of each text as a list; raise a `ValueError` if they are not one list a text."""
    rows = listed(targets)
    if rows is None or not all(isinstance(row, ROWS) for row in rows):
        raise ValueError(
            "expected a list for each text: one label for each word if texts are lists of words, or entities (start, "
            f"end, type) if texts are strings. Received {str(targets)[:60]!r}."
        )
    if len(rows) != count:
        raise ValueError(f"Received {len(rows)} rows of labels for {count} texts: expected one per text.")
    return rows


def _of_words(
    encoded: Iterable[Placed], words: Words, targets: Sequence, labels: TokenLabels, steps: LabelSteps | None
) -> list[Targets]:
    found = []
    for row, ((one, units), of_text, given) in enumerate(zip(encoded, words, targets, strict=True)):
        if len(of_text) != len(given):
            raise ValueError(
                f"row {row} has {len(of_text)} words and {len(given)} labels: expected one label per word."
            )
        try:
            classes = [_class(label, labels) for label in given]
            if steps is not None:
                steps.check(classes)
            found.append(word_targets(one, units, of_text, classes, labels))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
    return found


def _tell_lost(found: list[Targets], words: Words) -> None:
    """Warn of words without a token."""
    if lost := [(row, number) for row, one in enumerate(found) for number in one.unclear]:
        row, number = lost[0]
        warnings.warn(
            f"{len(lost)} of {sum(map(len, words))} words give no token, such as {words[row][number]!r} in row {row}: "
            "they are used neither for training nor for metrics. The tokenizer drops all their characters.",
            stacklevel=5,
        )


def check_whole(encoded: list[Encoded], found: list[Targets], words: Words | None, max_length: int) -> None:
    """Raise a `ValueError` if words or entities are lost, as a measure would not be one of what was given.

    Args:
        encoded: The encoded texts.
        found: Targets of the texts.
        words: The words of each text; None if texts are strings.
        max_length: Longest text in tokens.
    """
    cut = [row for row, (one, targets) in enumerate(zip(encoded, found, strict=True)) if _is_cut(one, targets, words)]
    if cut:
        row, count = cut[0], sum(found[row].cut for row in cut)
        what = "words" if words else "entities"
        of_row = f" of its {len(words[row])}" if words else ""
        place = "before its beginning" if encoded[row].side == "left" else "behind its end"
        raise ValueError(
            f"row {row}: the text is longer than max_length={max_length} tokens, and {found[row].cut}{of_row} {what} "
            f"lie {place} ({count} {what} in {len(cut)} of {len(found)} texts): a measure would leave them out. "
            "Load the task with a larger max_length, or divide long texts."
        )
    if words and (lost := [(row, number) for row, one in enumerate(found) for number in one.unclear]):
        row, number = lost[0]
        raise ValueError(
            f"row {row}: word {number}, {words[row][number]!r}, gives no token, as the tokenizer drops all its "
            f"characters ({len(lost)} of {sum(map(len, words))} words): a measure would leave such words out. Leave "
            "them and their labels out of the data."
        )


def _is_cut(encoded: Encoded, targets: Targets, words: Words | None) -> bool:
    return targets.cut > 0 or (encoded.truncated and not words)


def _class(label: Any, labels: TokenLabels) -> int:
    """Return the class of a label that is a name or a number."""
    number: Any = labels.numbers.get(label) if isinstance(label, str) else label
    if not is_token_id(number, len(labels.names)):
        raise ValueError(f"unknown label {label!r}; the labels are {list(labels.names)}, or their numbers from 0.")
    if labels.names[number] in labels.odd:
        raise ValueError(f"label {labels.names[number]!r}: {labels.describe_odd()}")
    return int(number)


def _of_spans(encoded: Iterable[Placed], texts: list[str], targets: Sequence, labels: TokenLabels) -> list[Targets]:
    if labels.outside is None:
        raise ValueError(
            "expected lists of words, with a label each: received texts. (Texts with entities need labels such as "
            f"'O', 'B-person', 'I-person', from bio_labels(['person']); these are {list(labels.names)}.)"
        )
    found, unclear = [], []
    for row, ((one, units), text, given) in enumerate(zip(encoded, texts, targets, strict=True)):
        try:
            spans = _checked_spans(given, len(text))
            found.append(span_targets(one, units, spans, labels))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
        unclear += [(row, text[spans[number][0] : spans[number][1]]) for number in found[-1].unclear]
    if unclear:
        warnings.warn(
            f"{len(unclear)} of {sum(map(len, targets))} entities begin or end inside a word or a token, "
            f"such as {unclear[0][1]!r} in row {unclear[0][0]}: the labels are applied to the whole word or token, "
            "which `predict` gives as the entity, and which metrics count as right.",
            stacklevel=4,
        )
    return found


def _checked_spans(given: Sequence, length: int) -> list[tuple[int, int, str]]:
    """Return the entities of one text, sorted; raise a `ValueError` for another form, or an overlap."""
    spans = []
    for span in given:
        if not isinstance(span, ROWS) or len(span) != 3 or not isinstance(span[2], str):
            raise ValueError(f"expected entities (start, end, type): received {span!r}.")
        start, end = span[:2]
        if not (is_size(end) and end <= length and is_token_id(start, end)):
            raise ValueError(
                f"expected 0 <= start < end <= {length}, characters of the text: received the entity {span}."
            )
        spans.append((int(start), int(end), str(span[2])))
    spans.sort()
    for one, other in pairwise(spans):
        if other[0] < one[1]:
            raise ValueError(f"the entities {one} and {other} overlap: each token has one label.")
    return spans


def _tell_missing(targets: np.ndarray, labels: TokenLabels) -> None:
    """Warn of labels that no row has; raise a `ValueError` if there is no target at all."""
    counts = np.bincount(target_classes(targets) + 1, minlength=len(labels.names) + 1)[1:]
    if not counts.any():
        raise ValueError("no text has a word with a label: there is nothing to learn from.")
    if missing := [name for name, count in zip(labels.names, counts, strict=True) if not count]:
        warnings.warn(f"no text has the label(s) {', '.join(missing)}: the model cannot learn them.", stacklevel=4)
