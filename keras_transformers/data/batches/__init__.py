"""Batches: shuffled, bucketed and padded, as a `tf.data.Dataset` or a Keras sequence."""
