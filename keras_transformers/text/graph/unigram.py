"""The unigram language model as ops: words to ids."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.missing import MISSING, Missing, byte_ids
from keras_transformers.text.graph.refuse import refuse
from keras_transformers.text.graph.streams import Stream, keep, reachable, row_starts, shift, stream
from keras_transformers.text.graph.tracking import tracked_in_rows
from keras_transformers.text.graph.trie import Trie
from keras_transformers.text.graph.whole_words import WholeWords

UNKNOWN_PENALTY = 10.0  # an unknown letter scores the lowest piece's score minus this
NEVER = float("-inf")
LONGEST = 4096  # letters of the longest word that is not cut into parts; each letter takes a round of some 25 us


class Unigram(tf.Module):
    """Cut words into the pieces whose scores have the largest sum (Kudo, 2018).

    Scores are summed in float64 from the left, as in the library, so that ties are broken alike. A word of more than
    LONGEST letters is cut into parts: in each block of LONGEST letters, at the first place that no piece spans. This
    changes no sum, but the ids may differ from the library's where two ways to cut have the same sum. They may also
    differ where pieces span every place of a block ("aaaa..."): then the word is cut where the block begins.
    """

    def __init__(self, pipeline: dict[str, Any], library: tokenizers.Tokenizer):
        super().__init__()
        config = pipeline["model"]
        ids = {token: i for i, (token, _) in enumerate(config["vocab"]) if token}
        spelled = byte_ids(ids) if config["byte_fallback"] else [MISSING]
        if config["unk_id"] is None or (max(spelled) > MISSING and min(spelled) == MISSING):
            known = ["Unigram with an unk_id", "with byte_fallback and all of <0x00> to <0xFF>, or none"]
            raise refuse("model", "Unigram", known)

        has_bytes = max(spelled) > MISSING
        self.unk_id = config["unk_id"]
        self.missing = Missing(spelled if has_bytes else None, self.unk_id, fuse=True)
        self.trie = Trie(ids)
        scores = [score for _, score in config["vocab"]]
        self.scores = tf.constant([*scores, NEVER], tf.float64)  # the last is the score of no match
        self.unknown = tf.constant(min(scores) - UNKNOWN_PENALTY, tf.float64)
        alone = {token: library.model.tokenize(token) for token in ids}
        self.words = WholeWords({token: row[0].id for token, row in alone.items() if len(row) == 1}, self._pieces)

    def __call__(self, points: Stream, starts: tf.Tensor) -> Stream:
        return self.words(points, starts)

    def _pieces(self, text: tf.Tensor, is_tracked: bool) -> Stream:
        """Words (U,) string to the ids of their pieces (U, None)."""
        words = tf.strings.unicode_decode(text, "UTF-8")  # (U, None), N letters
        matches = self.trie.ending(words.values, tf.gather(words.row_splits[1:], words.value_rowids()))  # (N, L)
        scores = tf.gather(self.scores, tf.where(matches < 0, tf.size(self.scores) - 1, matches))  # (N, L)
        letter = tf.where(matches[:, :1] < 0, self.unknown, scores[:, :1])  # (N, 1)

        parts = _parts(words, matches)  # (P, None)
        length = _best_lengths(parts, tf.concat([letter, scores[:, 1:]], 1))  # (N,)

        # Walk from the end of each part to the left. A walk that leaves its part arrives at the end of the one before.
        place = tf.range(tf.size(length))  # (N,)
        before = tf.where(place < length, tf.size(length), place - length)
        longest_part = tf.cast(tf.reduce_max(parts.row_lengths()), tf.int32)
        visited = reachable(shift(row_starts(parts), True, by=-1), before, longest_part)  # (N,)

        ids = tf.gather(matches, length - 1, batch_dims=1)  # (N,)
        has_typed = tf.reduce_any(visited & (ids == self.unk_id))
        visited, ids = tf.cond(has_typed, lambda: self._respelled(words, visited, ids, length), lambda: (visited, ids))
        pieces = words.with_values(ids)
        if is_tracked:
            pieces = tracked_in_rows(pieces)  # a piece stands where it ends
            pieces = pieces.with_starts(pieces.spans[:, 1] - tf.where(ids == MISSING, 1, length))
        return self.missing(keep(pieces, visited), tf.boolean_mask(words.values, visited))

    def _respelled(
        self, words: tf.RaggedTensor, visited: tf.Tensor, ids: tf.Tensor, length: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Make each typed "<unk>" next to unknown letters unknown letters, too: where pieces end (N,), ids (N,)."""
        at, starts = tf.where(visited)[:, 0], tf.cast(row_starts(keep(words, visited)), tf.int32)  # (M,), (M,)
        chosen = tf.gather(ids, at)  # (M,)
        is_lost = (chosen == MISSING) | (chosen == self.unk_id)  # (M,)
        word = tf.cumsum(starts)  # (M,)
        next_to_lost = [shift(is_lost, False, by) & (word == shift(word, 0, by)) for by in (1, -1)]

        is_respelled = (chosen == self.unk_id) & (next_to_lost[0] | next_to_lost[1])  # (M,)
        last = tf.cast(tf.boolean_mask(at, is_respelled), tf.int32)  # (T,)
        spelled = _spanned(last + 1 - tf.gather(length, last), last + 1, tf.size(ids))  # (N,)
        return visited | spelled, tf.where(spelled, MISSING, ids)


def _parts(words: tf.RaggedTensor, matches: tf.Tensor) -> tf.RaggedTensor:
    """Cut words (U, None) into parts (P, None), see `Unigram`; `matches` (N, L): the pieces that end at each letter."""
    place = tf.range(tf.size(words.values))  # (N,)
    row_splits = tf.cast(words.row_splits, tf.int32)
    longest = tf.reduce_max(tf.where(matches < 0, 1, tf.range(1, tf.shape(matches)[1] + 1)), 1)  # (N,)
    spanned = _spanned(place + 2 - longest, place + 1, tf.size(place))  # (N,)

    block = (place - tf.gather(row_splits, words.value_rowids())) % LONGEST == 0  # (N,)
    first = tf.math.segment_min(tf.where(spanned, tf.int32.max, place), tf.cumsum(tf.cast(block, tf.int32)) - 1)  # (P,)
    cuts = tf.where(first < tf.int32.max, first, tf.cast(tf.where(block)[:, 0], tf.int32))  # (P,)
    return stream(words.values, tf.concat([tf.cast(cuts, tf.int64), words.row_splits[-1:]], 0))


def _spanned(begin: tf.Tensor, stop: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """(size,) bool: places inside any of the spans [begin, stop), both (S,) int32; spans may be empty."""
    opened, closed = (tf.math.unsorted_segment_sum(tf.ones_like(at), at, size + 1) for at in (begin, stop))
    return tf.cumsum(opened - closed)[:-1] > 0


def _best_lengths(words: tf.RaggedTensor, scores: tf.Tensor) -> tf.Tensor:
    """The length of the last piece in the best cut of each word up to each of its letters.

    A step takes the next letter of all words. Words are sorted, the longest first: those that have ended are dropped
    from the end.

    Args:
        words: (U, None), N letters.
        scores: (N, L) float64 of the pieces of 1 to L letters that end at each letter.

    Returns:
        (N,) int32; of equal scores, the longest piece.
    """
    row, lengths = words.value_rowids(), words.row_lengths()
    column = tf.range(tf.size(row, tf.int64)) - tf.gather(words.row_splits, row)  # (N,)
    alive = tf.math.bincount(tf.cast(column, tf.int32))  # words that have an n-th letter
    begin = tf.cumsum(alive, exclusive=True)
    rank = tf.argsort(tf.argsort(lengths, direction="DESCENDING", stable=True))  # (U,)
    slot = tf.gather(begin, column) + tf.gather(rank, row)  # (N,)

    scores = tf.gather(scores, tf.scatter_nd(slot[:, None], tf.range(tf.size(slot)), tf.shape(slot)))  # (N, L)
    width = tf.shape(scores)[1]

    def step(i: tf.Tensor, best: tf.Tensor, chosen: tf.TensorArray) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
        """`best` (W, L): the scores of the words up to each of the L letters before this one, the nearest first."""
        best = best[: alive[i]]
        sums = scores[begin[i] : begin[i] + alive[i]] + best  # (W, L)
        top = tf.reduce_max(sums, 1, keepdims=True)  # (W, 1)
        length = tf.reduce_max(tf.where(sums == top, tf.range(1, width + 1), 0), 1)  # (W,)
        return i + 1, tf.concat([top, best[:, :-1]], 1), chosen.write(i, length)

    start = tf.pad(tf.zeros([tf.size(rank), 1], tf.float64), [[0, 0], [0, width - 1]], constant_values=NEVER)
    chosen = tf.TensorArray(tf.int32, tf.size(alive), infer_shape=False, element_shape=[None])
    shapes = (tf.TensorShape([]), tf.TensorShape([None, None]), tf.TensorShape(None))
    state = (tf.constant(0), start, chosen)
    chosen = tf.while_loop(lambda i, *_: i < tf.size(alive), step, state, shapes)[2]
    return tf.gather(chosen.concat(), slot)  # (N,)
