"""Upper and lower case of any text, as Python has them: tables of code points in the graph."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.chat.graph_values import NotCompiledError


def change_case(rows: tf.Tensor, name: str) -> tf.Tensor:
    raise NotCompiledError(f"filter {name!r}")
