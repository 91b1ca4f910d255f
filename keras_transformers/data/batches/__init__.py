"""Batches: shuffled, bucketed and padded, as `tf.data` or as a Keras sequence."""
