"""The inputs of exported signatures that take text."""

from __future__ import annotations

import tensorflow as tf

TEXT = tf.TensorSpec([None], tf.string, name="text")
TEXT_PAIR = tf.TensorSpec([None], tf.string, name="text_pair")
