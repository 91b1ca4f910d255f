"""The unigram language model as ops: words to ids."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.models.missing_letters import MISSING, Missing, byte_ids
from keras_transformers.text.graph.models.trie import Trie
from keras_transformers.text.graph.models.whole_words import WholeWords
from keras_transformers.text.graph.streams.streams import Stream, keep, reachable, row_starts, shift, stream
from keras_transformers.text.graph.streams.trace import traced_loop
from keras_transformers.text.graph.streams.tracking import tracked_in_rows
from keras_transformers.text.pipelines.components import refuse
from keras_transformers.text.pipelines.library import uncached

UNKNOWN_PENALTY = 10.0  # an unknown letter scores the lowest piece's score minus this
NEVER = float("-inf")
LONGEST = 4096  # letters of the longest word that is not cut into parts; each letter takes a round of about 100 us
LONGEST_KNOWN = 16  # letters of words that are looked up: for longer ones the library may take minutes


class _Begun(NamedTuple):
    """The A pieces of all words that are begun and not ended at the present letter: (A,) each."""

    word: tf.Tensor  # int32, the rank of the word
    state: tf.Tensor  # int64, of the trie
    before: tf.Tensor  # float64, the best sum of scores of the word before the piece
    length: tf.Tensor  # int32, in letters

    @classmethod
    def none(cls) -> _Begun:
        return cls(*(tf.zeros([0], kind) for kind in (tf.int32, tf.int64, tf.float64, tf.int32)))

    def with_new(self, best: tf.Tensor) -> _Begun:
        """Add a piece at the root of the trie for each of the first W words, whose best sums so far are `best` (W,)."""
        word = tf.range(tf.size(best))
        new = (word, tf.zeros_like(word, tf.int64), best, tf.zeros_like(word))
        return _Begun(*(tf.concat(pair, 0) for pair in zip(new, self, strict=True)))

    def where(self, mask: tf.Tensor) -> _Begun:
        return _Begun(*(tf.boolean_mask(x, mask) for x in self))


class Unigram(tf.Module):
    """The model Unigram: words are cut into the pieces whose scores have the largest sum (Kudo, 2018).

    Scores are summed in float64 from the left, as in the library, so that ties are broken alike. A word of more than
    LONGEST letters is cut into parts: in each block of LONGEST letters, at the first place that no piece spans. This
    changes no sum, but the ids may differ from the library's if two ways to cut have the same sum. They may also
    differ if pieces span every place of a block ("aaaa..."): then the word is cut where the block begins.
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
        self.base = len(config["vocab"]) + 1
        scores = [score for _, score in config["vocab"]]
        scores.append(min(scores) - UNKNOWN_PENALTY)  # an unknown letter's
        self.scores = tf.constant(scores, tf.float64)
        specs = [tf.TensorSpec([None], kind) for kind in (tf.int32, tf.int64)]
        self._last_pieces = traced_loop(self._search, specs)
        model = uncached(library.model)
        alone = {token: model.tokenize(token) for token in ids if len(token) <= LONGEST_KNOWN}
        self.words = WholeWords({token: row[0].id for token, row in alone.items() if len(row) == 1}, self._pieces)

    def __call__(self, points: Stream, starts: tf.Tensor) -> Stream:
        return self.words(points, starts)

    def _pieces(self, text: tf.Tensor, is_tracked: bool) -> Stream:
        """Convert words (U,) string to the ids of their pieces (U, None)."""
        words = tf.strings.unicode_decode(text, "UTF-8")  # (U, None), N letters
        is_long = tf.reduce_max(words.row_lengths()) > LONGEST
        splits = tf.cond(is_long, lambda: self._part_splits(words), lambda: words.row_splits)  # (P + 1,)
        parts = stream(words.values, splits)  # (P, None)
        length, ids = self._last_pieces(parts.values, parts.row_splits)  # (N,), (N,)

        # Walk from the end of each part to the left. A walk that leaves its part arrives at the end of the one before.
        place = tf.range(tf.size(length))  # (N,)
        before = tf.where(place < length, tf.size(length), place - length)
        longest_part = tf.cast(tf.reduce_max(parts.row_lengths()), tf.int32)
        visited = reachable(shift(row_starts(parts), True, by=-1), before, longest_part)  # (N,)

        has_typed = tf.reduce_any(visited & (ids == self.unk_id))
        visited, ids = tf.cond(has_typed, lambda: self._respelled(words, visited, ids, length), lambda: (visited, ids))
        pieces = words.with_values(ids)
        if is_tracked:
            pieces = tracked_in_rows(pieces)  # a piece is stored where it ends
            pieces = pieces.with_starts(pieces.spans[:, 1] - tf.where(ids == MISSING, 1, length))
        return self.missing(keep(pieces, visited), tf.boolean_mask(words.values, visited))

    def _respelled(
        self, words: tf.RaggedTensor, visited: tf.Tensor, ids: tf.Tensor, length: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Split each typed "<unk>" next to unknown letters into unknown letters: return where pieces end (N,), and ids
        (N,).
        """
        at, starts = tf.where(visited)[:, 0], tf.cast(row_starts(keep(words, visited)), tf.int32)  # (M,), (M,)
        chosen = tf.gather(ids, at)  # (M,)
        is_lost = (chosen == MISSING) | (chosen == self.unk_id)  # (M,)
        word = tf.cumsum(starts)  # (M,)
        next_to_lost = [shift(is_lost, False, by) & (word == shift(word, 0, by)) for by in (1, -1)]

        is_respelled = (chosen == self.unk_id) & (next_to_lost[0] | next_to_lost[1])  # (M,)
        last = tf.cast(tf.boolean_mask(at, is_respelled), tf.int32)  # (T,)
        spelled = _spanned(last + 1 - tf.gather(length, last), last + 1, tf.size(ids))  # (N,)
        return visited | spelled, tf.where(spelled, MISSING, ids)

    def _part_splits(self, words: tf.RaggedTensor) -> tf.Tensor:
        """Return where the parts of words (U, None) begin, see `Unigram`, and the end: (P + 1,) int64."""
        place, row = tf.range(tf.size(words.values)), words.value_rowids()  # (N,), (N,)
        root = tf.zeros_like(row)
        length, _ = self.trie.longest(
            words.values, tf.cast(place, tf.int64), tf.gather(words.row_splits[1:], row), root
        )
        spanned = _spanned(place + 1, place + tf.maximum(length, 1), tf.size(place))  # (N,)

        block = (place - tf.gather(tf.cast(words.row_splits, tf.int32), row)) % LONGEST == 0  # (N,)
        number = tf.cumsum(tf.cast(block, tf.int32)) - 1  # (N,)
        first = tf.math.segment_min(tf.where(spanned, tf.int32.max, place), number)  # (P,)
        cuts = tf.where(first < tf.int32.max, first, tf.cast(tf.where(block)[:, 0], tf.int32))  # (P,)
        return tf.concat([tf.cast(cuts, tf.int64), words.row_splits[-1:]], 0)

    def _search(self, points: tf.Tensor, row_splits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the last piece in the best cut of each word up to each of its letters.

        Each step takes the next letter of all words. Words are sorted, the longest first: words that have ended are
        dropped from the end.

        Args:
            points: (N,) int32, the letters of all words.
            row_splits: (U + 1,) int64, where words begin and end.

        Returns:
            (N,) int32, the length of the piece (of equal sums, the longest), and (N,) int32, its id or MISSING.
        """
        slot, alive = _columns(stream(points, row_splits))  # (N,), (C,)
        begin, alive = tf.cumsum(alive, exclusive=True), tf.concat([alive, [0]], 0)  # (C,), (C + 1,)
        points = tf.scatter_nd(slot[:, None], points, tf.shape(points))  # (N,)

        def step(i: tf.Tensor, best: tf.Tensor, begun: _Begun, chosen: tf.TensorArray) -> tuple:
            begun = begun.with_new(best[: alive[i]])  # (A,)
            letter = tf.gather(points, begin[i] + begun.word)  # (A,)
            begun = begun._replace(state=self.trie.after(begun.state, letter), length=begun.length + 1)
            best, pieces = self._chosen(begun, alive[i])  # (W,), (W,)
            begun = begun.where((begun.state >= 0) & (begun.word < alive[i + 1]))
            return i + 1, best, begun, chosen.write(i, pieces)

        chosen = tf.TensorArray(tf.int64, tf.size(begin), infer_shape=False, element_shape=[None])
        state = (tf.constant(0), tf.zeros([tf.size(row_splits) - 1], tf.float64), _Begun.none(), chosen)
        rows = tf.TensorShape([None])
        shapes = (tf.TensorShape([]), rows, _Begun(*[rows] * 4), tf.TensorShape(None))
        chosen = tf.while_loop(lambda i, *_: i < tf.size(begin), step, state, shapes)[3]
        pieces = tf.gather(chosen.concat(), slot)  # (N,)
        return tuple(tf.cast(x, tf.int32) for x in (pieces // self.base, pieces % self.base - 1))

    def _chosen(self, begun: _Begun, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the best sums of W words up to this letter, (W,); and the pieces that end here, as length * base + id
        + 1.
        """
        ids = self.trie.id_of(begun.state)  # (A,)
        is_piece = (ids != MISSING) | (begun.length == 1)  # (A,)
        word, base, length, ids = (
            tf.boolean_mask(x, is_piece) for x in (begun.word, begun.before, begun.length, ids)
        )  # (M,)
        sums = base + tf.gather(self.scores, tf.where(ids == MISSING, self.base - 1, ids))  # (M,)
        best = tf.math.unsorted_segment_max(sums, word, count)  # (W,)
        best = tf.where(best == tf.float64.min, tf.cast(NEVER, best.dtype), best)  # if scores are -1e308
        piece = tf.cast(length, tf.int64) * self.base + tf.cast(ids, tf.int64) + 1  # (M,)
        piece = tf.where(sums >= tf.gather(best, word), piece, 0)  # (M,)
        return best, tf.math.unsorted_segment_max(piece, word, count)


def _spanned(begin: tf.Tensor, stop: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Mark the places inside any of the spans [begin, stop), both (S,) int32; spans may be empty: (size,) bool."""
    opened, closed = (tf.math.unsorted_segment_sum(tf.ones_like(at), at, size + 1) for at in (begin, stop))
    return tf.cumsum(opened - closed)[:-1] > 0


def _columns(words: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Sort letters by their place in the word, then the longest word first: return their new places (N,), and the
    number of words that have a letter in each place, (C,) int32.
    """
    row = words.value_rowids()  # (N,)
    column = tf.range(tf.size(row, tf.int64)) - tf.gather(words.row_splits, row)  # (N,)
    alive = tf.math.bincount(tf.cast(column, tf.int32))  # (C,)
    rank = tf.argsort(tf.argsort(words.row_lengths(), direction="DESCENDING", stable=True))  # (U,)
    return tf.gather(tf.cumsum(alive, exclusive=True), column) + tf.gather(rank, row), alive
