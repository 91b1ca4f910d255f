"""Text to text by an encoder and a decoder on JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_transformers.config import TransformerConfig
from keras_transformers.data.rows import Ragged, Rows
from keras_transformers.generation.bucketed import BucketedService
from keras_transformers.generation.decode import UNFORCED, Forced
from keras_transformers.generation.prompt import NOTHING, TOO_MANY, start_id, step_beside_source


class BucketedSeq2SeqService(BucketedService):
    """A model of two stacks that takes texts and gives what they become, without TensorFlow.

    Args:
        config: Of the model.
        model: A model made from `models.encoder_decoder`, with its head.
        tokenizer: Of what it reads.
        target_tokenizer: Of what it writes.
        max_length: Tokens of a text, on either side, at most.
        forced: Tokens that the checkpoint prescribes.
    """

    has_source = True
    outputs = ("cross_attention_scores",)

    def __init__(
        self, config: TransformerConfig, model: keras.Model, tokenizer: Any, target_tokenizer: Any, max_length: int,
        forced: Forced = UNFORCED,
    ):  # fmt: skip
        self.first, self.source_tokenizer = start_id(config), tokenizer
        super().__init__(config, model, target_tokenizer, max_length, forced)

    def _one_step(self, token_ids: Any, places: Any, cache: Any) -> tuple[Any, Any]:
        return step_beside_source(self.step, token_ids, places, cache)

    def _prompts(self, texts: Sequence[str], new: np.ndarray) -> tuple[list[list[int]], dict[str, list], dict]:
        """The start token of each row, and the encoded texts; too long ones lose their end."""
        rows = self.source_tokenizer.encode(texts, max_length=self.max_length)
        ids = Ragged.of([row.ids for row in rows])
        filled = Rows(ids).padded(self._bucket(ids.lengths.max()), self.config.pad_id)
        source = {f"encoder_{name}": filled[name] for name in ("token_ids", "padding_mask")}
        too_many = TOO_MANY.format(max_length=self.max_length)
        errors = [
            too_many if number >= self.max_length else "" if text.strip() and not all(row.special_mask) else NOTHING
            for text, row, number in zip(texts, rows, new, strict=True)
        ]
        return [[self.first]] * len(texts), {"truncated": [row.truncated for row in rows], "error": errors}, source
