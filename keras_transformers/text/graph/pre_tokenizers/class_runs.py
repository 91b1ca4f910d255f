"""Splits at runs of characters of one class: `Whitespace`, and regular expressions such as `\\s+` or `\\d`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tokenizers import Regex, normalizers

from keras_transformers.text.graph.pre_tokenizers.delimiters import split_at
from keras_transformers.text.graph.streams.code_points import PointTable, shipped
from keras_transformers.text.graph.streams.matches import Matches
from keras_transformers.text.graph.streams.probe import BLANK, SCALARS, UNICODE_SIZE
from keras_transformers.text.graph.streams.runs import runs_of
from keras_transformers.text.graph.streams.streams import Stream, shift
from keras_transformers.text.graph.streams.tracking import start_of

RUNS = r"runs of characters of a class: \s+, [0-9], \p{N}{1,3}, \w+|[^\w\s]+"
ENDLESS = tf.int32.max  # repetitions of "+"
BOTH = 3  # a character of classes 1 and 2
# A class of characters, and how often it repeats. Sets hold no sets, no "&&" and no POSIX brackets.
ESCAPE = r"\\[sSwWdDhH.^$*+?()\[\]{}|\\/nrt-]|\\[pP]\{\^?[A-Za-z_]+\}"
ONE = rf"(?:{ESCAPE}|\[\^?(?:{ESCAPE}|[^\[\]\\&])+\]|[^\\\[\](){{}}|*+?^$])"
RUN = re.compile(rf"({ONE})(\+|\{{1,(\d{{1,6}})\}})?", re.DOTALL)
MOST_CLASSES = 8


class ClassRuns(tf.Module):
    """A pre-tokeniser whose delimiters are runs of characters of one class.

    Args:
        classes: (0x110000,) the class of each code point, from 1; 0 for none. Of two endless classes, `BOTH` for what
            is in both: it goes with the class before it, else with the first.
        longest: The largest number of characters of a run, for each class.
        behavior: See `split_at`.
        invert: See `split_at`.
    """

    def __init__(self, classes: np.ndarray, longest: Sequence[int], behavior: str, invert: bool):
        super().__init__()
        self.classes = PointTable(classes)
        self.is_shared = len(longest) == 2 and BOTH in classes
        self.longest = tf.constant([1, *longest], tf.int64)
        self.behavior, self.invert = behavior, invert

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        classes = self.classes(points.values)  # (N,)
        if self.is_shared:
            before = tf.gather(classes, start_of((classes != BOTH) | starts))  # (N,)
            classes = tf.where(classes == BOTH, tf.where(before == 2, 2, 1), classes)
        runs = runs_of(classes, starts)
        place = tf.range(tf.size(classes, tf.int64)) - runs.spread(runs.first)  # (N,) in its run
        inside = classes > 0
        first = inside & (place % tf.gather(self.longest, classes) == 0)
        last = inside & shift(first | ~inside | starts, True, by=-1)
        return split_at(points, starts, Matches(first, inside, last), self.behavior, self.invert)


def whitespace(config: dict[str, Any]) -> ClassRuns:
    """Return the pre-tokeniser Whitespace, whose pieces match `\\w+|[^\\w\\s]+`."""
    is_word, is_white = shipped()["word"] > 0, shipped()["regex"] >= BLANK
    return ClassRuns(np.where(is_word, 1, np.where(is_white, 0, 2)), [ENDLESS] * 2, "Removed", True)


def read_classes(pattern: str) -> tuple[np.ndarray, list[int]] | None:
    """Return the classes of code points of a regular expression, and how long their runs may be.

    None if the expression is no alternation of classes of characters, or if classes have a character in common, but for
    two endless ones: in the library's engine the digit "²" is in both of `\\w+|[^\\w\\s]+`.
    """
    pattern = re.sub(r"^\(([^()]*)\)$", r"\1", pattern)
    runs = [RUN.fullmatch(run) for run in re.findall(rf"(?:{ONE}|[^|])+", pattern, re.DOTALL)]
    if not 0 < len(runs) <= MOST_CLASSES or None in runs or "|".join(run[0] for run in runs if run) != pattern:
        return None
    classes = np.zeros(UNICODE_SIZE, np.int32)
    longest = [int(run[3] or ENDLESS) if run[2] else 1 for run in runs if run]
    for number, run in enumerate(filter(None, runs), 1):
        members = _members(run[1])
        if classes[members].any() and longest != [ENDLESS] * 2:
            return None
        classes[members] += number
    return classes, longest


@cache
def _members(characters: str) -> np.ndarray:
    """Return the code points that a class of the library's regular expressions has."""
    points = np.array(SCALARS, "<u4")
    rest = normalizers.Replace(Regex(characters), "").normalize_str(points.tobytes().decode("utf-32-le"))
    is_member = np.zeros(UNICODE_SIZE, bool)
    is_member[points] = True
    is_member[np.frombuffer(rest.encode("utf-32-le"), "<u4")] = False
    return np.flatnonzero(is_member)
