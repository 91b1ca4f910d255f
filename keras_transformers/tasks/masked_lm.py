"""Masked language modelling: train on plain text, fill the gaps of a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.data.masked_lm import MaskedLM
from keras_transformers.heads import masked_lm_head
from keras_transformers.models import encoder
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
    architecture = "BertForMaskedLM"
    new_layers = ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias")
    logits = "logits"

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

    def _extra(self, backbone: keras.Model) -> dict[str, Any]:
        return {name: backbone.output[name] for name in self.outputs}

    def _objective(self, training: bool) -> MaskedLM:
        return MaskedLM(self.tokenizer, whole_word=self.whole_word)

    def _losses(self) -> dict[str, keras.losses.Loss]:
        return {self.logits: losses.CrossEntropy()}

    def _metrics(self) -> dict[str, list]:
        return {self.logits: [metrics.Accuracy(), metrics.Perplexity()]}

    def _labels(self, labels: Any) -> Any:
        raise ValueError("a masked language model learns from the texts alone: leave the labels out.")

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> list[dict[str, Any]]:
        """Fill the `[MASK]` of each text.

        Args:
            texts: Any number of strings.
            batch_size: Texts at a time.

        Returns:
            One dict a text: `fills`, for each `[MASK]` the five likeliest tokens as (token, probability), and
            `truncated`.
        """
        if isinstance(texts, str):
            raise ValueError("expected a list of texts, received one str: pass [text].")
        answers = []
        for start in range(0, len(texts), batch_size):
            answers += self._fill(list(texts[start : start + batch_size]))
        return answers

    def _fill(self, texts: list[str]) -> list[dict[str, Any]]:
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            answer = {name: value.numpy() for name, value in self.service.text(tf.constant(texts)).items()}
        else:
            answer = self._answer_eagerly(texts)
        rows = zip(answer["tokens"], answer["probabilities"], answer["truncated"], strict=True)
        return [
            {"fills": [_named(*gap) for gap in zip(tokens, values, strict=True) if gap[0][0]], "truncated": bool(cut)}
            for tokens, values, cut in rows
        ]

    def _answer_eagerly(self, texts: list[str]) -> dict[str, np.ndarray]:
        """What `_served` gives, without TensorFlow."""
        rows = self.tokenizer.encode(texts, max_length=self.max_length)
        source = self._source(texts, None, None, 0)
        inputs = source.padded(int(source.lengths.max()), self.config.pad_id)
        gaps = inputs["token_ids"] == self.tokenizer.mask_id
        inputs["mask_positions"] = np.argsort(~gaps, axis=1, kind="stable")[:, : max(1, gaps.sum(axis=1).max())]
        probabilities = ops.softmax(ops.cast(self.model(inputs, training=False)[self.logits], "float32"))
        values, ids = (ops.convert_to_numpy(part) for part in ops.top_k(probabilities, TOP))
        real = np.take_along_axis(gaps, inputs["mask_positions"], axis=1)
        tokens = np.vectorize(self.tokenizer.id_to_token, otypes=[object])(ids)
        return {
            "tokens": np.where(real[..., None], tokens, ""),
            "probabilities": values,
            "truncated": np.array([row.truncated for row in rows]),
        }

    @cached_property
    def service(self) -> Any:
        """The traced text function: what `predict` calls and `export` saves."""
        from keras_transformers.export import TextService

        return TextService(self.model, self.text_graph, self._served, self.max_length, self._gaps)

    def _gaps(self, token_ids: Any) -> dict[str, Any]:
        """Where `[MASK]` stands, (B, M), as TensorFlow ops; unused entries hold other positions."""
        import tensorflow as tf

        gaps = tf.cast(token_ids == self.tokenizer.mask_id, tf.int32)
        most = tf.maximum(1, tf.reduce_max(tf.concat([[0], tf.reduce_sum(gaps, axis=1)], axis=0)))
        return {"mask_positions": tf.argsort(-gaps, axis=1, stable=True)[:, :most]}

    def _served(self, outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        import tensorflow as tf

        probabilities, ids = tf.math.top_k(tf.nn.softmax(tf.cast(outputs[self.logits], tf.float32)), TOP)
        real = tf.gather(inputs["token_ids"], inputs["mask_positions"], batch_dims=1) == self.tokenizer.mask_id
        vocabulary = tf.constant([self.tokenizer.id_to_token(i) for i in range(self.tokenizer.vocabulary_size)])
        tokens = tf.gather(vocabulary, tf.minimum(ids, self.tokenizer.vocabulary_size - 1))
        return {"tokens": tf.where(real[..., None], tokens, ""), "probabilities": probabilities}

    def export(self, folder: str) -> None:
        """Write a SavedModel that fills gaps.

        Its signature `serving_default` takes `text` (B,) strings and returns `tokens` (B, M, 5) strings, empty where a
        text has fewer than M gaps, `probabilities` (B, M, 5) and `truncated` (B,).

        Args:
            folder: Such as `"serving/fill/1"`. Replaced if it is a SavedModel; an interrupted export leaves the old one.
        """
        from keras_transformers.export import export

        export(folder, self.service, {"serving_default": self.service.text}, ["warm [MASK]"])


def _named(tokens: np.ndarray, probabilities: np.ndarray) -> list[tuple[str, float]]:
    names = (token.decode() if isinstance(token, bytes) else token for token in tokens)
    return list(zip(names, probabilities.tolist(), strict=True))
