"""Text to text by an encoder and a decoder, as TensorFlow functions."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_transformers.config import TransformerConfig
from keras_transformers.generation.decode import UNFORCED, Forced
from keras_transformers.generation.prompt import NOTHING, TOO_MANY, start_id, step_beside_source
from keras_transformers.generation.service import ERRORS, GenerationService
from keras_transformers.generation.spelling import Spelling
from keras_transformers.text.blank import BLANK

GROWTH = 32  # places; a cache for the longest text would be carried, and with beams copied, at every step


class Seq2SeqService(GenerationService):
    """A model of two stacks that takes texts and gives what they become, in another language for instance.

    Args:
        config: Of the model.
        model: A model made from `models.encoder_decoder`, with its head.
        graph: The tokenizer of what it reads as TensorFlow ops.
        spelling: What each token of what it writes adds to a text.
        max_length: Tokens of a text, on either side, at most.
        forced: Tokens that the checkpoint prescribes.
    """

    has_source = True
    outputs = ("cross_attention_scores",)

    def __init__(
        self, config: TransformerConfig, model: keras.Model, graph: Any, spelling: Spelling, max_length: int,
        forced: Forced = UNFORCED,
    ):  # fmt: skip
        self.first = start_id(config)
        super().__init__(config, model, graph, spelling, max_length, forced)
        self.decoder = self.decoder._replace(growth=GROWTH)

    def _one_step(self, token_ids: tf.Tensor, places: tf.Tensor, cache: Any) -> tuple[tf.Tensor, Any]:
        return step_beside_source(self._step, token_ids, places, cache)

    def _prompts(self, text: tf.Tensor, new: tf.Tensor, wrong: tf.Tensor) -> tuple[Any, ...]:
        """The start token of each row, and the encoded texts; too long ones lose their end."""
        rows = self.graph.encode(text, max_length=self.max_length)
        source = {
            "encoder_token_ids": rows["token_ids"],
            "encoder_padding_mask": tf.cast(rows["padding_mask"], tf.int32),
        }
        is_empty = tf.reduce_sum(source["encoder_padding_mask"], 1) <= self._num_special  # NFKC leaves nothing of some
        is_blank = tf.strings.regex_full_match(text, BLANK) | is_empty
        wrong = tf.where((wrong == 0) & (new >= self.max_length), ERRORS.index(TOO_MANY), wrong)
        wrong = tf.where((wrong == 0) & is_blank, ERRORS.index(NOTHING), wrong)
        prompts = tf.fill([tf.size(text), 1], self.first)
        return prompts, tf.ones_like(prompts[:, 0]), rows["truncated"], wrong, source
