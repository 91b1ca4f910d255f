"""TensorFlow ops for strings: stop strings to bytes, tokens to texts."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.generation.spelling import Spelling
from keras_transformers.generation.stop import MOST_BYTES, MOST_STRINGS, StopStrings


def stop_bytes(stop: tf.Tensor) -> tuple[StopStrings, tf.Tensor]:
    """Strings (B, n), empty for none, as bytes; and which rows have too many or too long ones, boolean (B,).

    Those rows are left without stop strings.
    """
    lengths = tf.strings.length(stop)
    count = tf.reduce_sum(tf.cast(lengths > 0, tf.int32), 1)
    too_much = (count > MOST_STRINGS) | tf.reduce_any(lengths > MOST_BYTES, 1)
    wanted = (lengths > 0) & ~too_much[:, None]
    stop = tf.ragged.boolean_mask(stop, wanted).to_tensor("")
    stop = tf.pad(stop, [[0, 0], [0, 1]], constant_values="")  # one at least
    lengths = tf.strings.length(stop)
    longest = tf.maximum(tf.reduce_max(lengths), 1)
    strings = tf.cast(tf.io.decode_raw(stop, tf.uint8, fixed_length=longest), tf.int32)
    place = tf.range(longest) - longest + lengths[:, :, None]  # aligns them on the right: (B, n, M)
    return StopStrings(tf.gather(strings, tf.maximum(place, 0), batch_dims=2), lengths), too_much


class Texts:
    """From tokens to the bytes of texts, as `Spelling.text` does it.

    Args:
        spelling: What each token adds.
        begins: Whether texts have a beginning of their own; if not, they continue prompts.
    """

    def __init__(self, spelling: Spelling, begins: bool):
        self.bodies, self.is_text = tf.constant(spelling.bodies), tf.constant(spelling.is_text)
        self.rests = tf.constant(spelling.rests) if any(spelling.rests) else None
        self.begins = begins

    def __call__(self, state: dict[str, Any]) -> tf.Tensor:
        """The texts (B,) of a state of the loop, before their stop strings.

        Args:
            state: `token_ids`, `lengths`, `new` and `kept_bytes` are read.
        """
        token_ids, end, kept = state["token_ids"], state["lengths"][:, None], state["kept_bytes"]
        places, begin = tf.range(tf.shape(token_ids)[1]), end - state["new"][:, None]
        is_text = tf.gather(self.is_text, token_ids) & (places >= begin) & (places < end)  # (B, S)
        entry = token_ids
        if self.bodies.shape[0] > self.is_text.shape[0]:
            is_first = tf.cumsum(tf.cast(is_text, tf.int32), 1) == 1
            entry += tf.where(is_first, self.is_text.shape[0], 0)
        added = tf.where(is_text, tf.gather(self.bodies, entry), "")  # (B, S)
        if self.rests is not None:
            goes_on = is_text if self.begins else is_text | (places == begin - 1)
            goes_on &= tf.cumsum(tf.cast(is_text, tf.int32), 1, exclusive=True, reverse=True) > 0
            added += tf.where(goes_on, tf.gather(self.rests, entry), "")
        return tf.strings.substr(tf.strings.reduce_join(added, 1), tf.zeros_like(kept), kept)
