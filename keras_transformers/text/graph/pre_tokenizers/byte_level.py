"""The pre-tokeniser ByteLevel as ops."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.pre_tokenizers.split_patterns import WordPattern
from keras_transformers.text.graph.streams.code_points import TOKEN
from keras_transformers.text.graph.streams.streams import Stream, insert


class ByteLevel(tf.Module):
    """The pre-tokeniser ByteLevel: GPT-2's splits, with a space before each piece of text if `add_prefix_space` is set.

    The library also writes every byte as a letter here. In ops the model (`BytePair`) looks up the bytes themselves.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.add_prefix_space = config["add_prefix_space"]
        self.pattern = WordPattern(tiktoken=False, digits=0) if config["use_regex"] else None

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        if self.add_prefix_space:
            lacks_space = starts & (points.values != ord(" ")) & (points.values < TOKEN)
            points, starts = insert(points, starts, lacks_space, ord(" "))
        return self.pattern(points, starts) if self.pattern else (points, starts)
