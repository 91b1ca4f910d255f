"""Masked language modelling: train on plain text, fill the gaps of a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import keras
from keras import ops

from keras_transformers.data.masked_lm import MaskedLM
from keras_transformers.heads import masked_lm_head
from keras_transformers.models import encoder
from keras_transformers.tasks.answer import look_up, predict
from keras_transformers.tasks.base import Task
from keras_transformers.training import losses, metrics

TOP = 5  # candidates for each gap


class MaskedLMTask(Task):
    """Guess hidden tokens.

    `dataset` hides 15 % of the tokens, others in each epoch; `predict` fills the `[MASK]` that stand in a text.
    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        config, tokenizer, max_length, outputs, dtype: As for `Task`.
        whole_word: Whether all pieces of a word are hidden together.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = MaskedLMTask(config, tokenizer)
    >>> history = task.fit(["a fine film", "a dull film"], epochs=1, verbose=0)
    >>> [len(gap) for gap in task.predict(["a [MASK] film"])[0]["fills"]]
    [5]
    """

    name = "masked_lm"
    new_layers = ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias")

    def __init__(self, *arguments: Any, whole_word: bool = False, **options: Any):
        self.whole_word = whole_word
        super().__init__(*arguments, **options)

    def _build(self) -> keras.Model:
        backbone, inputs, logits = self._masked_lm()
        return keras.Model(inputs, {self.logits: logits, **self._extra(backbone)}, name="masked_lm_model")

    def _masked_lm(self) -> tuple[keras.Model, dict, Any]:
        backbone = encoder(self.config, outputs=self.outputs, dtype=self.dtype)
        positions = keras.Input((None,), dtype="int32", name="mask_positions")
        embedding = backbone.get_layer("token_embedding")
        logits = masked_lm_head(self.config, embedding, backbone.output["hidden_states"], positions, self.dtype)
        return backbone, {**backbone.input, "mask_positions": positions}, logits

    def _objective(self) -> MaskedLM:
        return MaskedLM(self.tokenizer, whole_word=self.whole_word)

    def _losses(self) -> dict[str, keras.losses.Loss]:
        return {self.logits: losses.CrossEntropy()}

    def _metrics(self) -> dict[str, list]:
        return {self.logits: [metrics.Accuracy(), metrics.Perplexity()]}

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> list[dict[str, Any]]:
        """Fill the `[MASK]` of each text.

        Args:
            texts: Any number of strings.
            batch_size: Texts at a time.

        Returns:
            One dict a text: `fills`, for each `[MASK]` the five likeliest tokens as (token, probability), and
            `truncated`.

        Raises:
            ValueError: The texts are one str.
        """
        return predict(self, texts, None, batch_size)

    def _more_inputs(self, token_ids: Any) -> dict[str, Any]:
        """Where `[MASK]` stands, (B, M), in order; a row with fewer than M of them has other positions besides."""
        gaps = token_ids == self.tokenizer.mask_id
        most = ops.max(ops.sum(ops.cast(gaps, "int32"), axis=1), initial=1)
        width = ops.shape(token_ids)[1]
        columns = ops.arange(width)
        return {"mask_positions": ops.argsort(ops.where(gaps, columns, columns + width), axis=1)[:, :most]}

    def _served(self, outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        # A model may have more rows of logits than there are tokens.
        logits = ops.cast(outputs[self.logits], "float32")[..., : self.tokenizer.vocabulary_size]
        probabilities, ids = ops.top_k(ops.softmax(logits), TOP)
        chosen = ops.take_along_axis(inputs["token_ids"], inputs["mask_positions"], axis=1)
        gaps = ops.expand_dims(chosen == self.tokenizer.mask_id, -1)
        tokens = look_up(self._vocabulary, ops.where(gaps, ids, -1))
        return {"tokens": tokens, "probabilities": ops.where(gaps, probabilities, 0.0)}

    @cached_property
    def _vocabulary(self) -> list[str]:
        return [self.tokenizer.id_to_token(number) for number in range(self.tokenizer.vocabulary_size)]

    def _describe(self, row: dict[str, Any]) -> dict[str, Any]:
        gaps = zip(row["tokens"].tolist(), row["probabilities"].tolist(), strict=True)
        fills = [list(zip(tokens, values, strict=True)) for tokens, values in gaps if tokens[0]]
        return {"fills": fills, "truncated": bool(row["truncated"])}

    def export(self, folder: str) -> None:
        """Write a SavedModel that fills gaps.

        Its signature `serving_default` takes `text` (B,) strings and returns `tokens` (B, M, 5) strings, empty where a
        text has fewer than M gaps, `probabilities` (B, M, 5) and `truncated` (B,).

        Args:
            folder: Such as `"serving/fill/1"`. Replaced if it is a SavedModel; an interrupted export leaves the old
                one.

        Raises:
            ValueError: The backend is not TensorFlow, or the folder holds something else.
        """
        self._export(folder, {"serving_default": "text"}, text=["warm [MASK]"])
