"""The pre-tokeniser ByteLevel as ops."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.split_patterns import WordPattern
from keras_transformers.text.graph.streams import insert
from keras_transformers.text.graph.tables import TOKEN


class ByteLevel(tf.Module):
    """Put a space before a text if it is to be taken for a word, and split as GPT-2 does.

    The library also spells every byte as a letter here. In ops the model looks bytes up as they are (`BytePair`).
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.add_prefix_space = config["add_prefix_space"]
        self.pattern = WordPattern(tiktoken=False, digits=0) if config["use_regex"] else None

    def __call__(self, points: tf.RaggedTensor, starts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        if self.add_prefix_space:
            bare = starts & (points.values != ord(" ")) & (points.values < TOKEN)
            points, starts = insert(points, starts, bare, ord(" "))
        return self.pattern(points, starts) if self.pattern else (points, starts)
