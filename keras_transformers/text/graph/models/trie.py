"""A trie of vocabularies, matched at all positions of a text at once."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.streams.lookup_tables import lookup_table
from keras_transformers.text.pipelines.components import refuse

MOST_STATES = 1 << 23  # characters of all tokens together: 256,000 tokens of 32
LONGEST = 512  # characters of a token, SentencePiece's limit; a text may match it from every position, letter by letter
POINTS = 1 << 21  # more than there are code points and added tokens


class Trie(tf.Module):
    """A transition table of vocabularies: (state, code point) to state. Vocabulary i starts at state i.

    Args:
        vocabularies: Dicts of non-empty str to id.

    Raises:
        ValueError: A token is longer than LONGEST, or all together have more than MOST_STATES characters.
    """

    def __init__(self, *vocabularies: dict[str, int]):
        super().__init__()
        states: dict[int, int] = {}
        ids = [-1] * len(vocabularies)
        for root, vocabulary in enumerate(vocabularies):
            longest = max(map(len, vocabulary), default=0)
            if longest > LONGEST:
                raise refuse("vocabulary", f"with a token of {longest:,} characters", [f"up to {LONGEST} characters"])
            for entry, entry_id in vocabulary.items():
                state = root
                for character in entry:
                    state = states.setdefault(state * POINTS + ord(character), len(ids))
                    if state == len(ids):
                        ids.append(-1)
                ids[state] = entry_id
                if len(ids) > MOST_STATES:
                    raise refuse("vocabulary", "with tokens that are too long", [f"up to {MOST_STATES} characters"])
        keys, values = (np.fromiter(column, np.int64, len(states)) for column in (states, states.values()))
        self.transitions = lookup_table(keys, values, tf.int64, tf.int64, -1)
        self.ids = tf.constant(np.array(ids, np.int32))

    def longest(
        self, points: tf.Tensor, at: tf.Tensor, end: tf.Tensor, state: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the longest match from each of C positions.

        Args:
            points: (N,) int32 code points.
            at: (C,) int64, where to start.
            end: (C,) int64, where to stop: a match lies in points[at:end].
            state: (C,) int64, the vocabulary to match with.

        Returns:
            Length and id (C,) int32 of the longest match; 0 and -1 if there is none.
        """

        def step(depth: tf.Tensor, rows: tf.Tensor, state: tf.Tensor, length: tf.Tensor, ids: tf.Tensor) -> tuple:
            is_inside = tf.gather(at + depth, rows) < tf.gather(end, rows)  # (R,), R positions still match
            rows, state = tf.boolean_mask(rows, is_inside), tf.boolean_mask(state, is_inside)

            state = self.after(state, tf.gather(points, tf.gather(at, rows) + depth))
            rows, state = tf.boolean_mask(rows, state >= 0), tf.boolean_mask(state, state >= 0)

            entry = tf.gather(self.ids, state)  # (R,)
            matched = tf.boolean_mask(rows, entry >= 0)[:, None]  # (M, 1)
            length = tf.tensor_scatter_nd_update(
                length, matched, tf.fill(tf.shape(matched)[:1], tf.cast(depth + 1, tf.int32))
            )
            ids = tf.tensor_scatter_nd_update(ids, matched, tf.boolean_mask(entry, entry >= 0))

            return depth + 1, rows, state, length, ids

        nothing = tf.zeros_like(at, tf.int32)
        rows = tf.range(tf.size(at))
        start = (tf.zeros([], tf.int64), rows, state, nothing, nothing - 1)
        shapes = (tf.TensorShape([]), *(tf.TensorShape([None]) for _ in range(4)))
        return tf.while_loop(lambda depth, rows, *_: tf.size(rows) > 0, step, start, shapes)[3:]

    def after(self, state: tf.Tensor, points: tf.Tensor) -> tf.Tensor:
        """Return the states (A,) int64 after one more code point each, (A,) int32; negative if no entry continues with
        it.
        """
        return self.transitions.lookup(state * POINTS + tf.cast(points, tf.int64))

    def id_of(self, state: tf.Tensor) -> tf.Tensor:
        """Return the ids (A,) int32 of the entries that end in states (A,) int64; -1 if none does, or a state is
        negative.
        """
        return tf.where(state < 0, -1, tf.gather(self.ids, tf.maximum(state, 0)))
