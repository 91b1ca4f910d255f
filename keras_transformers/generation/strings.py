"""Stop strings as TensorFlow ops."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.generation.stop import MOST_BYTES, MOST_STRINGS, StopStrings


def stop_bytes(stop: tf.Tensor) -> tuple[StopStrings, tf.Tensor]:
    """Strings (B, n), empty for none, as bytes; and which rows have too long ones, or too many: these have none."""
    lengths = tf.strings.length(stop)
    count = tf.reduce_sum(tf.cast(lengths > 0, tf.int32), 1)
    too_much = (count > MOST_STRINGS) | tf.reduce_any(lengths > MOST_BYTES, 1)
    wanted = (lengths > 0) & ~too_much[:, None]
    stop = tf.ragged.boolean_mask(stop, wanted).to_tensor("")
    stop = tf.pad(stop, [[0, 0], [0, 1]], constant_values="")  # one at least
    lengths = tf.strings.length(stop)
    longest = tf.maximum(tf.reduce_max(lengths), 1)
    strings = tf.cast(tf.io.decode_raw(stop, tf.uint8, fixed_length=longest), tf.int32)
    place = tf.range(longest) - longest + lengths[:, :, None]  # of their ends, which stand at the end
    return StopStrings(tf.gather(strings, tf.maximum(place, 0), batch_dims=2), lengths), too_much
