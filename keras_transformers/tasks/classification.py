"""Classification and regression of texts and of pairs of texts."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.config import TransformerConfig
from keras_transformers.data.classification import PROBLEMS, Classification
from keras_transformers.data.next_token import WithNextToken
from keras_transformers.heads import classification_head, language_model_head, last_token, pooler
from keras_transformers.models import decoder, encoder
from keras_transformers.tasks.answer import look_up, predict
from keras_transformers.tasks.base import Task
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training import losses, metrics

LANGUAGE_MODEL = "language_model_logits"


class ClassificationTask(Task):
    """Labels for texts or pairs of texts.

    An encoder answers from its first token, BERT's `[CLS]`; a decoder from its last one. It should always be the same:
    see `text.end_token`.
    Papers: BERT, Devlin et al. 2018, https://arxiv.org/abs/1810.04805; GPT, Radford et al. 2018, "Improving Language
    Understanding by Generative Pre-Training", which trains the language model too, with a weight of 0.5.

    Args:
        config, tokenizer, max_length, outputs, dtype: As for `Task`.
        labels: Names of the classes, or their number.
        problem: `"single_label"` (one class a text), `"multi_label"` (any number of classes) or `"regression"` (a
            number for each label).
        lm_weight: Of the next-token loss that is added to that of the labels, for a decoder; 0 for none. The model then
            has a second output in training, `language_model_logits`, and Keras puts the names of outputs before those
            of metrics: `logits_accuracy`, `language_model_logits_perplexity`. It is neither predicted nor exported.

    Raises:
        ValueError: There are no labels, two are the same, the problem is unknown, `lm_weight` is negative, or the model
            is an encoder, which has no next token to guess.

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
    kinds = ("encoder", "decoder")
    new_layers = ("pooler", "classifier")
    labelled = True

    def __init__(
        self,
        config: TransformerConfig,
        tokenizer: Tokenizer,
        *,
        labels: Sequence[str] | int | None = None,
        problem: str | None = None,
        lm_weight: float = 0.0,
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
        if lm_weight < 0 or (lm_weight and config.kind != "decoder"):
            raise ValueError(
                f"lm_weight is the weight of a decoder's next-token loss, 0 for none: received {lm_weight} for a model "
                f"of kind {config.kind!r}."
            )
        self.lm_weight = lm_weight
        super().__init__(config, tokenizer, **options)

    def _build(self) -> keras.Model:
        is_decoder = self.config.kind == "decoder"
        backbone = (decoder if is_decoder else encoder)(self.config, outputs=self.outputs, dtype=self.dtype)
        states = backbone.output["hidden_states"]
        if is_decoder:
            pooled = last_token(states, backbone.input["padding_mask"])
        else:
            pooled = pooler(self.config, states, self.dtype)
        outputs = {"logits": classification_head(self.config, pooled, len(self.labels), self.dtype)}
        if self.lm_weight:
            embedding = backbone.get_layer("token_embedding")
            outputs[LANGUAGE_MODEL] = language_model_head(self.config, embedding, states, self.dtype)
        return keras.Model(backbone.input, {**outputs, **self._extra(backbone)}, name="classifier_model")

    @cached_property
    def served_model(self) -> keras.Model:
        outputs = {name: output for name, output in self.model.output.items() if name != LANGUAGE_MODEL}
        return keras.Model(self.model.input, outputs, name="served_model") if self.lm_weight else self.model

    def compile(self, optimizer: keras.optimizers.Optimizer | None = None, **options: Any) -> None:
        if self.lm_weight:
            options = {"loss_weights": {"logits": 1.0, LANGUAGE_MODEL: self.lm_weight}} | options
        super().compile(optimizer, **options)

    def _objective(self) -> Classification | WithNextToken:
        objective = Classification(len(self.labels), self.problem, self.config.pad_id)
        return WithNextToken(objective, "logits", LANGUAGE_MODEL) if self.lm_weight else objective

    def _losses(self) -> dict[str, keras.losses.Loss]:
        loss = {
            "single_label": losses.CrossEntropy,
            "multi_label": losses.BinaryCrossEntropy,
            "regression": losses.MeanSquaredError,
        }
        more = {LANGUAGE_MODEL: losses.CrossEntropy()} if self.lm_weight else {}
        return {"logits": loss[self.problem](), **more}

    def _metrics(self) -> dict[str, list]:
        made = {
            "single_label": [metrics.Accuracy, metrics.MeanCrossEntropy],
            "multi_label": [metrics.BinaryAccuracy, metrics.F1],
            "regression": [metrics.MeanAbsoluteError, *([metrics.Pearson] if len(self.labels) == 1 else [])],
        }
        more = {LANGUAGE_MODEL: [metrics.Perplexity()]} if self.lm_weight else {}
        return {"logits": [make() for make in made[self.problem]], **more}

    def _labels(self, labels: Any) -> np.ndarray:
        """Class numbers of names; numbers stay."""
        if isinstance(labels, str):
            raise ValueError(f"expected a label for each text, received the str {labels!r}: pass [{labels!r}].")
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

    def _class_weights(self, weights: dict[Any, float]) -> np.ndarray:
        if self.problem != "single_label":
            raise ValueError(
                f"class_weight is for texts of one class each: received one for {self.problem}. Leave it out."
            )
        if not isinstance(weights, Mapping):
            raise ValueError(f"class_weight is a dict, of labels to numbers: received a {type(weights).__name__}.")
        made = np.ones(len(self.labels), np.float32)
        for label, weight in weights.items():
            number = self._numbers([label])[0] if isinstance(label, str) else label
            if number not in range(len(made)):
                raise ValueError(
                    f"class_weight has {label!r}; the labels are {list(self.labels)}, or their numbers from 0."
                )
            if not (isinstance(weight, numbers.Real) and 0 <= weight <= float(np.finfo(np.float32).max)):
                raise ValueError(
                    f"class_weight has {weight!r} for {label!r}: expected a number from 0 on, for float32."
                )
            made[int(number)] = weight  # by False and True, NumPy would take none and all
        return made

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
    if isinstance(labels, str):
        raise ValueError(f"labels must be a list of names, or their number: received the str {labels!r}. Pass a list.")
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
