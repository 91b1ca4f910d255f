"""Text to text by an encoder and a decoder, as TensorFlow functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_transformers.config import TransformerConfig
from keras_transformers.generation.decode import Forced
from keras_transformers.generation.prompt import NOTHING, TOO_MANY, start_id, step_beside_source
from keras_transformers.generation.service import ERRORS, GenerationService, is_new
from keras_transformers.generation.stop import NEVER
from keras_transformers.text.blank import BLANK

GROWTH = 32  # places; a cache for the longest text would be carried, and with beams copied, at every step


class Seq2SeqService(GenerationService):
    """A model of two stacks that takes texts and gives what they become, in another language for instance.

    Args:
        config: Of the model.
        model: A model made from `models.encoder_decoder`, with its head.
        graph: The tokenizer of what it reads as TensorFlow ops.
        target_graph: That of what it writes.
        token_bytes: What each token of the latter adds to a text.
        max_length: Tokens of a text, on either side, at most.
        forced: Tokens that the checkpoint prescribes.
    """

    has_source = True
    outputs = ("cross_attention_scores",)

    def __init__(
        self, config: TransformerConfig, model: keras.Model, graph: Any, target_graph: Any,
        token_bytes: Sequence[bytes], max_length: int, forced: Forced | None = None,
    ):  # fmt: skip
        self.first = start_id(config)
        super().__init__(config, model, graph, token_bytes, max_length)
        self.decoder = self.decoder._replace(forced=forced or Forced(), growth=GROWTH)
        self.target_graph = self.module.target_graph = target_graph
        self.num_bytes = tf.strings.length(self.pieces)

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

    def _content(self, state: dict[str, Any]) -> tf.Tensor:
        """The decoded texts, before their stop strings.

        Those were found in what tokens add in mid-sentence; a decoded text differs from that at its beginning.
        """
        new = is_new(state)
        is_end = tf.reduce_any(state["token_ids"][:, :, None] == list(self.config.eos_ids), 2)
        text = self.target_graph.decode(tf.where(new & ~is_end, state["token_ids"], -1))
        length = tf.strings.length(text)
        spelled = tf.reduce_sum(tf.where(new, tf.gather(self.num_bytes, state["token_ids"]), 0), 1)
        kept = state["kept_bytes"]
        end = tf.where(kept < NEVER, tf.maximum(kept + length - spelled, 0), length)
        return tf.strings.substr(text, tf.zeros_like(end), end)
