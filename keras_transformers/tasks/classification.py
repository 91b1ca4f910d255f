"""Classification and regression of texts and of pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.config import TransformerConfig
from keras_transformers.data.classification import PROBLEMS, Classification
from keras_transformers.heads import classification_head, pooler
from keras_transformers.models import encoder
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
    architecture = "BertForSequenceClassification"
    new_layers = ("pooler", "classifier")

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
        super().__init__(config, tokenizer, **options)

    def _build(self) -> keras.Model:
        backbone = encoder(self.config, outputs=self.outputs, dtype=self.dtype)
        pooled = pooler(self.config, backbone.output["hidden_states"], self.dtype)
        logits = classification_head(self.config, pooled, len(self.labels), self.dtype)
        extra = {name: backbone.output[name] for name in self.outputs}
        return keras.Model(backbone.input, {"logits": logits, **extra}, name="classifier_model")

    def _objective(self, training: bool) -> Classification:
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
        numbers = {name: number for number, name in enumerate(self.labels)}
        try:
            if self.problem == "single_label" and any(isinstance(label, str) for label in labels):
                return np.array([numbers[label] for label in labels], "int32")
            if self.problem == "multi_label" and any(isinstance(name, str) for row in labels for name in row):
                return np.array([[float(name in row) for name in self.labels] for row in map(self._known, labels)])
        except KeyError as error:
            raise ValueError(f"unknown label {error.args[0]!r}; the labels are {list(self.labels)}.") from None
        return np.asarray(labels)

    def _known(self, row: Sequence[str]) -> Sequence[str]:
        for name in row:
            if name not in self.labels:
                raise KeyError(name)
        return row

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
            `labels` (those with a probability of one half or more) and `probabilities`; regression, `scores` (by label).

        Raises:
            ValueError: The texts are one str, or texts and pairs are not as many.
        """
        if isinstance(texts, str):
            raise ValueError("expected a list of texts, received one str: pass [text].")
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"received {len(texts)} texts and {len(pairs)} pairs: expected as many.")
        answers = []
        for start in range(0, len(texts), batch_size):
            chunk = slice(start, start + batch_size)
            rows = self._answer_batch(list(texts[chunk]), None if pairs is None else list(pairs[chunk]))
            answers += [self._describe(values, truncated) for values, truncated in rows]
        return answers

    def _answer_batch(self, texts: list[str], pairs: list[str] | None) -> list[tuple]:
        """(values (C,), truncated) of each text."""
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            texts = tf.constant(texts)
            answer = self.service.text(texts) if pairs is None else self.service.pair(texts, tf.constant(pairs))
            return list(zip(answer[self._values].numpy(), answer["truncated"].numpy(), strict=True))
        rows = self.tokenizer.encode(texts, pairs, max_length=self.max_length)
        dataset = self.dataset(texts, pairs=pairs, batch_size=len(texts), shuffle=False)
        logits = self.model(dataset[0][0], training=False)["logits"]
        values = ops.convert_to_numpy(self.values(logits))
        return [(value, row.truncated) for value, row in zip(values, rows, strict=True)]

    def _describe(self, values: np.ndarray, truncated: bool) -> dict[str, Any]:
        by_label = dict(zip(self.labels, values.tolist(), strict=True))
        answer = {self._values: by_label, "truncated": bool(truncated)}
        if self.problem == "single_label":
            answer["label"] = self.labels[int(values.argmax())]
        elif self.problem == "multi_label":
            answer["labels"] = [name for name, value in by_label.items() if value >= 0.5]
        return answer

    @property
    def _values(self) -> str:
        return "scores" if self.problem == "regression" else "probabilities"

    def values(self, logits: Any) -> Any:
        """Probabilities of logits (B, C), or for regression the logits themselves, float32."""
        logits = ops.cast(logits, "float32")
        activation = {"single_label": ops.softmax, "multi_label": ops.sigmoid, "regression": lambda x: x}
        return activation[self.problem](logits)

    @cached_property
    def service(self) -> Any:
        """The traced text functions: what `predict` calls and `export` saves."""
        from keras_transformers.export import TextService

        return TextService(self.model, self.text_graph, self._served, self.max_length)

    def _served(self, outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Named outputs of the SavedModel, as TensorFlow ops."""
        import tensorflow as tf

        values = self.values(outputs["logits"])
        answer = {self._values: values}
        if self.problem == "single_label":
            answer["label"] = tf.gather(tf.constant(self.labels), tf.argmax(values, axis=-1))
        elif self.problem == "multi_label":
            answer["labels"] = tf.where(values >= 0.5, tf.constant(self.labels)[None], "")
        return answer

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
        from keras_transformers.export import export

        signatures = {"serving_default": self.service.text, "pair": self.service.pair}
        export(folder, self.service, signatures)

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
    if not labels or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise ValueError(f"labels must be different strings, at least one: received {list(labels)}.")
    return labels
