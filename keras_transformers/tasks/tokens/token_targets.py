"""Targets of a token classifier, one number a token, from labels of words or from entities."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.text.encoded import Encoded

NO_TARGET = -1


class Unit(NamedTuple):
    """A word of the tokenizer, before it is split into pieces; it gets one label."""

    position: int  # of its first token
    start: int  # in the text, in characters
    end: int


class Targets(NamedTuple):
    """The targets of one text, and the numbers of the words or spans that do not fit its tokens.

    Args:
        numbers: One a token: see `TokenTargets`.
        unclear: Numbers of words without a token; or of spans that begin or end inside a word of the tokenizer.
    """

    numbers: list[int]
    unclear: list[int]


def target_classes(targets: np.ndarray) -> np.ndarray:
    """Return the class of each target, whether or not metrics count it; -1 for no target.

    Example:

    >>> target_classes(np.array([3, -1, -5])).tolist()
    [3, -1, 3]
    """
    return np.where(targets < NO_TARGET, -2 - targets, targets)


def units(encoded: Encoded) -> list[Unit]:
    """Return the words of the tokenizer in a text, without special tokens."""
    found, last = [], None
    for position, (word, (start, end)) in enumerate(zip(encoded.word_ids, encoded.offsets, strict=True)):
        if word is None:
            continue
        if word == last:
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(Unit(position, start, end))
        last = word
    return found


def word_targets(encoded: Encoded, words: Sequence[str], classes: Sequence[int], labels: TokenLabels) -> Targets:
    """Return targets from the classes of words, which spaces join to a text.

    The first unit of a word has its class. Further units, as of "U.S.", have the class that continues it, for the loss
    alone: metrics count each word once.

    Args:
        encoded: The encoded text.
        words: The words.
        classes: Their classes.
        labels: The labels of all classes.

    Raises:
        ValueError: A class that a split word needs is not among the labels.
    """
    ends = [end - 1 for end in accumulate(len(word) + 1 for word in words)]
    starts = [end - len(word) for end, word in zip(ends, words, strict=True)]
    all_units = units(encoded)
    units_of = _overlapping(all_units, starts, ends)
    numbers = [NO_TARGET] * len(encoded.ids)
    for own, number in zip(units_of, classes, strict=True):
        for unit, part in zip(own, labels.spread(number, len(own)), strict=True):
            numbers[unit.position] = part if unit is own[0] else -2 - part
    kept = _kept(encoded, all_units)
    return Targets(numbers, [i for i, own in enumerate(units_of) if not own and starts[i] < kept])


def span_targets(encoded: Encoded, spans: Sequence[tuple[int, int, str]], labels: TokenLabels) -> Targets:
    """Return targets from entities (start, end, type); a unit belongs to the first span that it overlaps.

    Args:
        encoded: The encoded text.
        spans: In characters of the text, half open, in order and without overlaps.
        labels: The labels of all classes.

    Raises:
        ValueError: The type of a span is unknown, or no unit is left for a span.
    """
    all_units, numbers = units(encoded), [NO_TARGET] * len(encoded.ids)
    units_of = _overlapping(all_units, [start for start, _, _ in spans], [end for _, end, _ in spans])
    if (outside := labels.outside) is None:
        raise ValueError(
            f"entities need a label for words outside of them, such as 'O': the labels are {labels.names}."
        )
    for unit in all_units:
        numbers[unit.position] = outside
    kept, unclear = _kept(encoded, all_units), []
    for i, (own, (start, end, kind)) in enumerate(zip(units_of, spans, strict=True)):
        classes = labels.entity(kind, len(own))
        if not own and start < kept:
            raise ValueError(f"the span {(start, end, kind)} covers no token, or only tokens of the span before it.")
        for unit, number in zip(own, classes, strict=True):
            numbers[unit.position] = number
        if own and (own[0].start < start or own[-1].end > end):
            unclear.append(i)
    return Targets(numbers, unclear)


def _overlapping(all_units: list[Unit], starts: list[int], ends: list[int]) -> list[list[Unit]]:
    """Return, for each span of a text, the units that overlap it and no span before it."""
    found: list[list[Unit]] = [[] for _ in starts]
    for unit in all_units:
        index = bisect_right(ends, unit.start)
        if index < len(starts) and starts[index] < unit.end:
            found[index].append(unit)
    return found


def _kept(encoded: Encoded, all_units: list[Unit]) -> float:
    """Return the end of the part of a text that was not cut off."""
    if not encoded.truncated:
        return float("inf")
    return all_units[-1].end if all_units else 0


@dataclass(frozen=True)
class TokenTargets:
    """The objective of rows with a target for each token: the model's inputs and (B, T) targets.

    A target of 0 or more is the class of a word, at its first token. -1 is no target: special tokens, further pieces
    and padding. A target below -1 is the class -2 - target of a further part of a word, such as the second full stop of
    "U.S.": it adds to the loss (`TokenCrossEntropy`), and no metric counts it.

    Args:
        num_classes: int, number of outputs C.
        pad_id: int, the id of padding.

    Raises:
        ValueError: from `check`: rows have no target for each token, or one is out of range.

    Example:

    >>> rows = Rows(Ragged.of([[2, 7, 8, 3]]), labels=Ragged.of([[-1, 0, -3, -1]]))
    >>> x, y = TokenTargets(num_classes=2)(rows, width=5)
    >>> x["padding_mask"].tolist(), y.tolist()
    ([[1, 1, 1, 1, 0]], [[-1, 0, -3, -1, -1]])
    """

    num_classes: int
    pad_id: int = 0

    def check(self, rows: Rows):
        if rows.labels is None:
            return
        if not isinstance(rows.labels, Ragged):
            raise ValueError("Received rows without a target for each token: make them by `word_targets`.")
        if (wrong := target_classes(rows.labels.flat)).max(initial=-1) >= self.num_classes:
            raise ValueError(f"Received class {wrong.max()}: expected a class from 0 to {self.num_classes - 1}.")

    def __call__(self, rows: Rows, width: int, rng: np.random.Generator | None = None) -> tuple:
        inputs = rows.padded(width, self.pad_id)
        return (inputs,) if rows.labels is None else (inputs, rows.labels.padded(width, NO_TARGET))
