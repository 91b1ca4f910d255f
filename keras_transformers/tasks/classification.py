"""Classification and regression of texts and of pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.config import TransformerConfig
from keras_transformers.data.classification import PROBLEMS, Classification
from keras_transformers.heads import classification_head, pooler
from keras_transformers.models import encoder
from keras_transformers.tasks.answer import look_up, predict
from keras_transformers.tasks.base import Task
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training import losses, metrics


class ClassificationTask(Task):
    """Labels for texts or pairs of texts.

    Args:
        config, tokenizer, max_length, outputs, dtype: As for `Task`.
        labels: Names of the classes, or their number.
        problem: `"single_label"` (one class a text), `"multi_label"` (any number of classes) or `"regression"` (a
            number for each label).

    Raises:
        ValueError: There are no labels, two are the same, or the problem is unknown.

    Example:

    >>> from keras_transformers.families import bert
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = ClassificationTask(config, tokenizer, labels=["negative", "positive"])
    >>> history = task.fit(["a fine film", "a dull film"], ["positive", "negative"], epochs=1, verbose=0)
    >>> sorted(task.predict(["a fine film"])[0])
    ['label', 'probabilities', 'truncated']
    """

    name = "classification"
    new_layers = ("pooler", "classifier")
    labelled = True

    def __init__(
        self,
        config: TransformerConfig,
        tokenizer: Tokenizer,
        *,
        labels: Sequence[str] | int | None = None,
        problem: str | None = None,
        **options: Any,
    ):
        self.labels = _label_names(labels)
        self.problem = problem or "single_label"
        if self.problem not in PROBLEMS:
            raise ValueError(f"problem must be one of {PROBLEMS}: received {problem!r}.")
        if self.problem == "single_label" and len(self.labels) == 1:
            raise ValueError(
                "one class leaves nothing to tell apart: give two labels or more, or for one number a text "
                "problem='regression'."
            )
        super().__init__(config, tokenizer, **options)

    def _build(self) -> keras.Model:
        backbone = encoder(self.config, outputs=self.outputs, dtype=self.dtype)
        pooled = pooler(self.config, backbone.output["hidden_states"], self.dtype)
        logits = classification_head(self.config, pooled, len(self.labels), self.dtype)
        extra = {name: backbone.output[name] for name in self.outputs}
        return keras.Model(backbone.input, {"logits": logits, **extra}, name="classifier_model")

    def _objective(self) -> Classification:
        return Classification(len(self.labels), self.problem, self.config.pad_id)

    def _losses(self) -> dict[str, keras.losses.Loss]:
        loss = {
            "single_label": losses.CrossEntropy,
            "multi_label": losses.BinaryCrossEntropy,
            "regression": losses.MeanSquaredError,
        }
        return {"logits": loss[self.problem]()}

    def _metrics(self) -> dict[str, list]:
        if self.problem == "single_label":
            return {"logits": [metrics.Accuracy(), metrics.MeanCrossEntropy()]}
        if self.problem == "multi_label":
            return {"logits": [metrics.BinaryAccuracy(), metrics.F1()]}
        return {"logits": [metrics.MeanAbsoluteError(), *([metrics.Pearson()] if len(self.labels) == 1 else [])]}

    def _labels(self, labels: Any) -> np.ndarray:
        """Class numbers of names; numbers stay."""
        labels = list(labels)
        if self.problem == "single_label" and any(isinstance(label, str) for label in labels):
            return np.array(self._numbers(labels), np.int32)
        if self.problem == "multi_label" and any(_holds_names(row) for row in labels):
            rows = [self._numbers(row) for row in labels]
            return np.array([[number in row for number in range(len(self.labels))] for row in rows])
        return np.asarray(labels)

    def _numbers(self, names: Sequence[str]) -> list[int]:
        for name in names:
            if name not in self.labels:
                raise ValueError(f"unknown label {name!r}; the labels are {list(self.labels)}.")
        return [self.labels.index(name) for name in names]

    def predict(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, batch_size: int = 32
    ) -> list[dict[str, Any]]:
        """Answer texts, by the same traced function that `export` saves (on the TensorFlow backend).

        Args:
            texts: Any number of strings.
            pairs: The second text of each pair.
            batch_size: Texts at a time.

        Returns:
            One dict a text, with `truncated` and: single label, `label` and `probabilities` (by label); multi-label,
            `labels` (those with a probability of one half or more) and `probabilities`; regression, `scores` by label.

        Raises:
            ValueError: The texts are one str, or texts and pairs are not as many.
        """
        return predict(self, texts, pairs, batch_size)

    def _served(self, outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        logits = ops.cast(outputs["logits"], "float32")
        if self.problem == "regression":
            return {"scores": logits}
        if self.problem == "single_label":
            probabilities = ops.softmax(logits)
            return {"label": look_up(self.labels, ops.argmax(logits, axis=-1)), "probabilities": probabilities}
        probabilities = ops.sigmoid(logits)
        applying = ops.where(probabilities >= 0.5, ops.arange(len(self.labels)), -1)
        return {"labels": look_up(self.labels, applying), "probabilities": probabilities}

    def _describe(self, row: dict[str, Any]) -> dict[str, Any]:
        answer = {name: value for name, value in row.items() if name == "label"}
        if "labels" in row:
            answer["labels"] = [name for name in row["labels"] if name]
        for name in row.keys() & {"probabilities", "scores"}:
            answer[name] = dict(zip(self.labels, row[name].tolist(), strict=True))
        return {**answer, "truncated": bool(row["truncated"])}

    def export(self, folder: str) -> None:
        """Write a SavedModel: strings in, labels and probabilities out, for TF Serving.

        Signatures: `serving_default` takes `text`, `pair` takes `text` and `text_pair`, all (B,) strings. Both return
        `truncated` (B,) bool and: single label, `label` (B,) and `probabilities` (B, C); multi-label, `labels` (B, C),
        empty where a label does not apply, and `probabilities`; regression, `scores` (B, C). Only core TensorFlow ops
        are used: neither Keras nor tensorflow-text nor this package is needed to serve it.

        Args:
            folder: Such as `"serving/sentiment/1"`. Replaced if it is a SavedModel; an interrupted export leaves the
                old one.

        Raises:
            ValueError: The backend is not TensorFlow, or the folder holds something else.
        """
        self._export(folder, {"serving_default": "text", "pair": "pair"})

    def _saved_options(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "problem": self.problem}


def _label_names(labels: Sequence[str] | int | None) -> tuple[str, ...]:
    if labels is None:
        raise ValueError("classification needs labels: names such as ['negative', 'positive'], or their number.")
    if isinstance(labels, int):
        if labels < 1:
            raise ValueError(f"labels must be names or a positive number: received {labels}.")
        return tuple(f"LABEL_{number}" for number in range(labels))
    labels = tuple(labels)
    are_names = all(isinstance(label, str) and label for label in labels)
    if not labels or not are_names or len(set(labels)) < len(labels):
        raise ValueError(f"labels must be different strings, at least one: received {list(labels)}.")
    return labels


def _holds_names(row: Any) -> bool:
    if isinstance(row, str):
        raise ValueError(f"expected a list of labels for each text, received the str {row!r}: pass [[{row!r}], ...].")
    return isinstance(row, (list, tuple, set, frozenset)) and any(isinstance(name, str) for name in row)
