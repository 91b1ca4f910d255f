"""The regular expressions that split words at capitals ("camelCase"), as ops without regular expressions.

Where a token ends depends on where it begins. So the end of a token that would begin at each code point is found for
all at once, and the tokens are those that a walk over these ends visits.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.pre_tokenizers.split_patterns import among, folded
from keras_transformers.text.graph.streams.code_points import PointTable, shipped
from keras_transformers.text.graph.streams.probe import BLANK, CAPITAL, NEWLINE, NUMBER, OTHER, SMALL
from keras_transformers.text.graph.streams.streams import Stream, reachable, shift

_WORDS = (
    r"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{ending}"
    r"|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{ending}"
    r"|\p{{N}}{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTRACTED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
CASED_PATTERNS: dict[str, dict[str, Any]] = {
    _WORDS.format(ending=CONTRACTED, digits="{1,3}"): {"contractions": True, "digits": 3},  # GPT-4o's o200k, Phi-4 mini
    _WORDS.format(ending="", digits="{1,3}"): {"contractions": False, "digits": 3},
    _WORDS.format(ending="", digits=""): {"contractions": False, "digits": 1},  # Mistral's Tekken
}
# Bits beside CAPITAL and SMALL. A combining mark has MARKED and both of these.
DIGIT, WHITE, BREAK, MARKED = 4, 8, 16, 32


class CasedPattern(tf.Module):
    """The pre-tokeniser Split for one of `CASED_PATTERNS`.

    A word is capitals and then small letters, either may be missing; letters without case count as both. One mark or
    blank before a word belongs to it.

    Args:
        contractions: Whether a word includes a contraction ('s, 'LL) after it.
        digits: Maximum digits of a token.
    """

    def __init__(self, contractions: bool, digits: int):
        super().__init__()
        classes = shipped()["regex"]
        bits = shipped()["letter_case"] + DIGIT * (classes == NUMBER) + WHITE * (classes >= BLANK)
        bits += BREAK * (classes == NEWLINE) + MARKED * (classes == OTHER)
        self.bits = PointTable(bits.astype(np.int32), token=MARKED)
        self.contractions, self.digits = contractions, digits

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        ends = _Ends(points.values, self.bits(points.values), starts)
        stops = [ends.words(self.contractions), ends.numbers(self.digits), ends.marks(), ends.blanks()]
        starts |= ends.blank_after_text()  # each begins a token whatever is before: the walks are short
        known = tf.where(starts)[:, 0]  # (S,)
        longest = tf.reduce_max(shift(known, tf.size(starts), by=-1) - known)
        return points, reachable(starts, _first(*stops), tf.cast(longest, tf.int32))


class _Ends:
    """Ends of the tokens that begin at each of N code points, by each alternative of the pattern: (N,) int32 each.

    0 where the alternative does not match.
    """

    def __init__(self, points: tf.Tensor, bits: tf.Tensor, starts: tf.Tensor):
        self.points, self.bits, self.starts = points, bits, starts
        self.place = tf.range(tf.size(points))  # (N,)
        self.goes_on = shift(~starts, False, by=-1)  # (N,) the piece has another code point

    def words(self, contractions: bool) -> tf.Tensor:
        capitals_end = self._run(self._has(CAPITAL))  # (N,)
        small_end = self._run(self._has(SMALL))  # (N,)
        after_capitals = self._beyond(capitals_end, small_end)  # (N,)

        caseless = self._last(self._has(CAPITAL) & self._has(SMALL), capitals_end)  # (N,) of the capitals
        mixed = tf.where(after_capitals > capitals_end, after_capitals, caseless)  # (N,)
        capitals = tf.where(self._has(CAPITAL), capitals_end, 0)  # (N,)

        opens = self._has(MARKED) | (self._has(WHITE) & ~self._has(BREAK))  # (N,)
        stop = _first(self._next(mixed, opens), mixed, self._next(capitals, opens), capitals)
        return tf.where(stop > 0, self._beyond(stop, self._contractions()), 0) if contractions else stop

    def numbers(self, digits: int) -> tf.Tensor:
        is_digit = self._has(DIGIT)  # (N,)
        return tf.where(is_digit, tf.minimum(self._run(is_digit), self.place + digits), 0)

    def marks(self) -> tf.Tensor:
        is_mark = self._has(MARKED)  # (N,)
        tail = self._run(self._has(BREAK) | (self.points == ord("/")))  # (N,)
        stop = tf.where(is_mark, self._beyond(self._run(is_mark), tail), 0)  # (N,)
        return _first(self._next(stop, self.points == ord(" ")), stop)

    def blanks(self) -> tf.Tensor:
        is_white = self._has(WHITE)  # (N,)
        stop = self._run(is_white)  # (N,)
        is_whole = tf.gather(_padded(self.starts, True), stop) | (stop - self.place <= 1)  # (N,)
        blanks = tf.where(is_white, tf.where(is_whole, stop, stop - 1), 0)  # (N,)
        return _first(self._last(self._has(BREAK), stop), blanks)

    def blank_after_text(self) -> tf.Tensor:
        """Mark the blanks, but for newlines, that do not follow white space, (N,) bool."""
        return self._has(WHITE) & ~self._has(BREAK) & ~shift(self._has(WHITE), False)

    def _contractions(self) -> tf.Tensor:
        """Return where a contraction that begins at each place ends; the place itself where none does."""
        one = tf.where(self.goes_on, shift(folded(self.points), 0, by=-1), 0)  # (N,)
        two = tf.where(self.goes_on, shift(one, 0, by=-1), 0)  # (N,)
        is_long = ((one == ord("l")) & (two == ord("l"))) | (among(one, "rv") & (two == ord("e")))  # (N,)
        length = tf.where(is_long, 3, tf.where(among(one, "stmd"), 2, 0))  # (N,)
        return self.place + tf.where(self.points == ord("'"), length, 0)

    def _has(self, bit: int) -> tf.Tensor:
        return self.bits & bit > 0

    def _run(self, mask: tf.Tensor) -> tf.Tensor:
        """Return where the run of `mask` from each place on ends; the place itself where it is False."""
        breaks = ~mask | self.starts  # (N,)
        places = tf.concat([tf.boolean_mask(self.place, breaks), [tf.size(mask)]], 0)  # (M + 1,)
        return tf.where(mask, tf.gather(places, tf.cumsum(tf.cast(breaks, tf.int32))), self.place)

    def _beyond(self, stop: tf.Tensor, ends: tf.Tensor) -> tf.Tensor:
        """Return `ends` at `stop` (N,), or `stop` where that is the end of the piece."""
        is_over = (stop > self.place) & tf.gather(_padded(self.starts, True), stop)  # (N,)
        return tf.where(is_over, stop, tf.gather(_padded(ends, 0), stop))

    def _last(self, mask: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
        """Return the place after the last True from each place up to `stop` (N,), exclusive; 0 if there is none."""
        after = tf.cast(tf.where(mask)[:, 0] + 1, tf.int32)  # (M,)
        up_to = tf.gather(tf.cumsum(_padded(tf.cast(mask, tf.int32), 0), exclusive=True), stop)  # (N,)
        found = tf.gather(tf.concat([[0], after], 0), up_to)  # (N,)
        return tf.where(found > self.place, found, 0)

    def _next(self, stop: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Return `stop` of the next code point of the piece where `mask` is True, else 0."""
        return tf.where(mask & self.goes_on, shift(stop, 0, by=-1), 0)


def _first(*stops: tf.Tensor) -> tf.Tensor:
    """Return the first of the ends (N,) that is not 0."""
    return reduce(lambda one, other: tf.where(one > 0, one, other), stops)


def _padded(values: tf.Tensor, edge: object) -> tf.Tensor:
    return tf.concat([values, [tf.cast(edge, values.dtype)]], 0)
