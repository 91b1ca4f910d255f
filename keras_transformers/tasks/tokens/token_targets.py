"""Targets of a token classifier, one number per token, from labels of words or from entities."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.tasks.answers.readers import places_of
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.graph.streams.words_of_text import place_words

NO_TARGET = -1
CHUNK = 256  # texts whose words are found together


class Unit(NamedTuple):
    """A word of a text, or several that one token covers: see `words_of_text`. It gets one label."""

    position: int  # of its first token
    start: int  # in the text, in characters
    end: int
    others: tuple[int, ...] = ()  # further tokens that begin where it begins: its letters behind a lone "▁"

    def mark(self, numbers: list[int], number: int, is_counted: bool = True) -> None:
        """Set the target of its first token to a class, and the targets of `others`, which add to the loss only."""
        numbers[self.position] = number if is_counted else -2 - number
        for position in self.others:
            numbers[position] = -2 - number


class Targets(NamedTuple):
    """The targets of one text, and the numbers of the words or spans that do not fit its tokens.

    Args:
        numbers: One a token: see `TokenTargets`.
        unclear: Numbers of words without a token; or of spans that begin or end inside a unit.
        cut: Number of words or spans that begin after the end of a text that was cut.
    """

    numbers: list[int]
    unclear: list[int]
    cut: int


def target_classes(targets: np.ndarray) -> np.ndarray:
    """Return the class of each target, whether or not metrics count it; -1 for no target.

    Example:

    >>> target_classes(np.array([3, -1, -5])).tolist()
    [3, -1, 3]
    """
    return np.where(targets < NO_TARGET, -2 - targets, targets)


def units_of(encoded: Sequence[Encoded], texts: Sequence[str]) -> Iterator[list[Unit]]:
    """Yield the units of each text: its words, as far as tokens tell them apart.

    Args:
        encoded: The encoded texts.
        texts: The texts.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> texts = ["The cat!"]
    >>> encoded = Tokenizer.train(texts, vocabulary_size=40).encode(texts)
    >>> [texts[0][unit.start : unit.end] for unit in next(units_of(encoded, texts))]
    ['The', 'cat', '!']
    """
    for begin in range(0, len(encoded), CHUNK):
        rows = encoded[begin : begin + CHUNK]
        places = places_of(rows, max(len(row.ids) for row in rows))
        found = place_words(texts[begin : begin + CHUNK], places["offsets"], places["word_ids"])
        yield from map(_units, found["word_ids"].tolist(), found["offsets"].tolist())


def _units(word_ids: list[int], offsets: list[list[int]]) -> list[Unit]:
    found: list[Unit] = []
    last = -1
    for position, (word, (start, end)) in enumerate(zip(word_ids, offsets, strict=True)):
        if word >= 0 and word == last:
            unit = found[-1]
            others = (*unit.others, position) if start == unit.start else unit.others
            found[-1] = unit._replace(end=end, others=others)
        elif word >= 0:
            found.append(Unit(position, start, end))
        last = word
    return found


def word_targets(
    encoded: Encoded, all_units: list[Unit], words: Sequence[str], classes: Sequence[int], labels: TokenLabels
) -> Targets:
    """Return targets from the classes of words, which spaces join to a text.

    The first unit of a word has its class. Further units, as of "U.S.", have the class that continues it, for the loss
    alone: metrics count each word once. So have the letters behind a lone "▁", which are the first token of the same
    word if no space precedes it.

    Args:
        encoded: The encoded text.
        all_units: Units of the encoded text.
        words: The words.
        classes: Classes of the spans.
        labels: The labels of all classes.

    Raises:
        ValueError: A class that a split word needs is not among the labels.
    """
    ends = [end - 1 for end in accumulate(len(word) + 1 for word in words)]
    starts = [end - len(word) for end, word in zip(ends, words, strict=True)]
    own_units = _overlapping(all_units, starts, ends)
    numbers = [NO_TARGET] * len(encoded.ids)
    for own, number in zip(own_units, classes, strict=True):
        for unit, part in zip(own, labels.spread(number, len(own)), strict=True):
            unit.mark(numbers, part, is_counted=unit is own[0])
    first, last = _kept(encoded, all_units)
    lost = [i for i, own in enumerate(own_units) if not own]
    unclear = [i for i in lost if first < ends[i] and starts[i] < last]
    return Targets(numbers, unclear, len(lost) - len(unclear))


def span_targets(
    encoded: Encoded, all_units: list[Unit], spans: Sequence[tuple[int, int, str]], labels: TokenLabels
) -> Targets:
    """Return targets from entities (start, end, type); a unit belongs to the first span that it overlaps.

    Args:
        encoded: The encoded text.
        all_units: Units of the encoded text.
        spans: Half-open spans in characters of the text, in order and without overlaps.
        labels: The labels of all classes.

    Raises:
        ValueError: The type of a span is unknown, or no unit is left for a span.
    """
    numbers = [NO_TARGET] * len(encoded.ids)
    own_units = _overlapping(all_units, [start for start, _, _ in spans], [end for _, end, _ in spans])
    if (outside := labels.outside) is None:
        raise ValueError(
            f"entities need a label for words outside of them, such as 'O': the labels are {labels.names}."
        )
    for unit in all_units:
        unit.mark(numbers, outside)
    (first, last), unclear = _kept(encoded, all_units), []
    for i, (own, (start, end, kind)) in enumerate(zip(own_units, spans, strict=True)):
        classes = labels.entity(kind, len(own))
        if not own and first < end and start < last:
            raise ValueError(f"the span {(start, end, kind)} covers no token, or only tokens of the span before it.")
        for unit, number in zip(own, classes, strict=True):
            unit.mark(numbers, number)
        if own and (own[0].start < start or own[-1].end > end):
            unclear.append(i)
    return Targets(numbers, unclear, sum(not own for own in own_units))


def _overlapping(all_units: list[Unit], starts: list[int], ends: list[int]) -> list[list[Unit]]:
    """Return, for each span of a text, the units that overlap it and no span before it."""
    found: list[list[Unit]] = [[] for _ in starts]
    for unit in all_units:
        index = bisect_right(ends, unit.start)
        if index < len(starts) and starts[index] < unit.end:
            found[index].append(unit)
    return found


def _kept(encoded: Encoded, all_units: list[Unit]) -> tuple[float, float]:
    """Return where the part of a text that was not cut off begins and ends."""
    if not encoded.truncated:
        return 0, float("inf")
    if encoded.side == "left":
        return all_units[0].start if all_units else float("inf"), float("inf")
    return 0, all_units[-1].end if all_units else 0


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
