"""Sources of rows with a target for each token, from texts with labelled words or with entities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from keras_transformers.data.sources.rows import Ragged, Rows, tell_cut
from keras_transformers.tasks.inputs.sources import rows_of
from keras_transformers.tasks.parts import Setup
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.tasks.tokens.token_targets import Targets, span_targets, target_classes, word_targets
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.text_checks import check_texts, listed
from keras_transformers.utils.number_checks import is_size, is_token_id

ROWS = (list, tuple, np.ndarray)
Words = list[Sequence[str]]


def token_source(setup: Setup, labels: TokenLabels) -> Callable[..., Rows]:
    """Return the source of a token classifier: a `Parts.source`.

    Args:
        setup: Of the task.
        labels: Of the task.
    """

    def source(texts: Any, targets: Any, pairs: Any, *, shuffle: bool = True) -> Rows:
        if hasattr(texts, "element_spec"):
            raise ValueError(
                f"{setup.kind.name} takes lists of texts, or of words, and their labels: received a tf.data.Dataset."
            )
        words, texts = read_texts(texts)
        encoded = setup.tokenizer.encode(texts, max_length=setup.max_length)
        tell_cut([row.truncated for row in encoded], setup.max_length)
        rows = rows_of(encoded, setup.config)
        if targets is None:
            return rows
        targets = check_rows(targets, len(texts))
        found = _of_words(encoded, words, targets, labels) if words else _of_spans(encoded, texts, targets, labels)
        rows = replace(rows, labels=Ragged.of([row.numbers for row in found]))
        if shuffle:
            _tell_missing(rows.labels.flat, labels)
        return rows

    return source


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
            "expected a list for each text: of a label for each word, where texts are lists of words; or of entities "
            f"(start, end, type), where they are strings. Received {str(targets)[:60]!r}."
        )
    if len(rows) != count:
        raise ValueError(f"Received {len(rows)} rows of labels for {count} texts: expected one a text.")
    return rows


def _of_words(encoded: list[Encoded], words: Words, targets: Sequence, labels: TokenLabels) -> list[Targets]:
    found, lost = [], []
    for row, (one, of_text, given) in enumerate(zip(encoded, words, targets, strict=True)):
        if len(of_text) != len(given):
            raise ValueError(f"row {row} has {len(of_text)} words and {len(given)} labels: expected one label a word.")
        try:
            found.append(word_targets(one, of_text, [_class(label, labels) for label in given], labels))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
        lost += [(row, of_text[number]) for number in found[-1].unclear]
    if lost:
        warnings.warn(
            f"{len(lost)} of {sum(map(len, words))} words give no token, such as {lost[0][1]!r} in row {lost[0][0]}: "
            "they are neither learnt nor measured.",
            stacklevel=4,
        )
    return found


def _class(label: Any, labels: TokenLabels) -> int:
    """Return the class of a label that is a name or a number."""
    number: Any = labels.numbers.get(label) if isinstance(label, str) else label
    if not is_token_id(number, len(labels.names)):
        raise ValueError(f"unknown label {label!r}; the labels are {list(labels.names)}, or their numbers from 0.")
    if labels.names[number] in labels.odd:
        raise ValueError(f"label {labels.names[number]!r}: {labels.describe_odd()}")
    return int(number)


def _of_spans(encoded: list[Encoded], texts: list[str], targets: Sequence, labels: TokenLabels) -> list[Targets]:
    if labels.outside is None:
        raise ValueError(
            "expected lists of words, with a label each: received texts. (Texts with entities need labels such as "
            f"'O', 'B-person', 'I-person', from bio_labels(['person']); these are {list(labels.names)}.)"
        )
    found, unclear = [], []
    for row, (one, text, given) in enumerate(zip(encoded, texts, targets, strict=True)):
        try:
            spans = _checked_spans(given, len(text))
            found.append(span_targets(one, spans, labels))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
        unclear += [(row, text[spans[number][0] : spans[number][1]]) for number in found[-1].unclear]
    if unclear:
        warnings.warn(
            f"{len(unclear)} of {sum(map(len, targets))} entities begin or end inside a word of the tokenizer, such as "
            f"{unclear[0][1]!r} in row {unclear[0][0]}: they stand for whole words.",
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
        warnings.warn(f"no text has the label(s) {', '.join(missing)}: nothing is learnt of them.", stacklevel=4)
