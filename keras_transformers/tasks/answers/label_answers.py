"""Predictions of a classifier: labels and probabilities, as tensors of an export and as `predict` returns them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.tasks.answers.named_model import NamedModel
from keras_transformers.tasks.answers.one_pass import Describe, OnePass
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.tasks.answers.signatures import Answer, Signature, look_up, text_signatures
from keras_transformers.tasks.answers.zero_shot import EXAMPLES
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.inputs.labels import Labels
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.tensor_types import Tensor

MANY = 1000  # labels of a model: with more, an answer has the likeliest ones alone
LIKELIEST = 100  # of many labels


class LabelAnswers(OnePass):
    """Predictions of a classifier or a regression, for all labels or for the likeliest ones.

    Args:
        setup, model, signatures: As for `OnePass`.
        classes: The labels.
        left_out: Why a signature is missing, of which an export warns; empty if none is.
        from_ids: As for `OnePass`.
    """

    def __init__(
        self,
        setup: Setup,
        model: keras.Model,
        signatures: Mapping[str, Signature],
        classes: Labels,
        left_out: str = "",
        from_ids: FromIds | None = None,
    ):
        options: dict[str, Any] = {"labels": classes.names, "from_ids": from_ids}
        super().__init__(setup, model, signatures, describe_labels(classes), EXAMPLES, **options)
        self.classes, self.left_out = classes, left_out

    def predict(
        self,
        texts: Iterable[str],
        pairs: Iterable[str] | None = None,
        *,
        top: int | None = None,
        batch_size: int = 32,
        verbose: Any = "auto",
    ) -> list[dict[str, Any]]:
        """Predict labels, by the same traced function that `export` saves (on the TensorFlow backend).

        Texts of similar length are read together, which needs less padding; predictions are in the order of the texts.
        For more texts than fit in memory, see `predict_stream`.

        Args:
            texts: Any number of strings.
            pairs: The second text of each pair.
            top: Number of `probabilities` in a prediction: the likeliest labels, the likeliest first. As many
                as there are labels, or more, for all of them in the order of the labels. When None, all of up to 1,000
                labels, and the 100 likeliest of more.
            batch_size, verbose: As for `OnePass.predict`.

        Returns:
            One dict a text. Its keys depend on the task: `help(task.predict)` names them.

        Raises:
            ValueError: The texts are one str, there are not as many pairs as texts, or `top` is no positive integer, or
                given for a regression.
        """
        return [*self._answers(texts, pairs, batch_size, verbose, growing=False, describe=self._describe(top))]

    def predict_stream(
        self,
        texts: Iterable[str],
        pairs: Iterable[str] | None = None,
        *,
        top: int | None = None,
        batch_size: int = 32,
        verbose: Any = 0,
    ) -> Iterator[dict[str, Any]]:
        """Predict texts one by one: for more texts than fit in memory, or to have the first predictions soon.

        Args:
            texts, pairs: As for `predict`; iterators are read some thousands at a time, at first some dozens.
            top, batch_size, verbose: As for `predict`.

        Returns:
            An iterator over what `predict` returns, in the order of the texts.

        Raises:
            ValueError: As for `predict`; for the texts of an iterator, once they are read.
        """
        return self._answers(texts, pairs, batch_size, verbose, growing=True, describe=self._describe(top))

    def export(
        self, folder: str | os.PathLike, *, frozen: bool = False, compiled: bool = False, compute: str | None = None
    ) -> None:
        """Write a SavedModel from texts to labels and probabilities, for TF Serving.

        Only core TensorFlow ops are used: neither Keras nor tensorflow-text nor this package is needed to serve it.

        Signatures:
            `serving_default` and others.

        Args:
            folder, frozen, compiled, compute: As for `OnePass.export`.

        Raises:
            ValueError: As for `OnePass.export`.
        """
        super().export(folder, frozen=frozen, compiled=compiled, compute=compute)
        if self.left_out:
            warnings.warn(self.left_out, stacklevel=2)

    def _describe(self, top: Any) -> Describe:
        if top is None:
            return self.describe
        if self.classes.problem == "regression":
            raise ValueError(f"top is for probabilities, and a regression has scores: received {top!r}. Leave top out.")
        return describe_labels(self.classes, *check_counts(top=top))


def has_many(classes: Labels) -> bool:
    """Return whether answers have the likeliest labels alone, if all are not asked for."""
    return len(classes.names) > MANY and classes.problem != "regression"


def likeliest_signatures(
    takes_pairs: bool, model: keras.Model | NamedModel, answer: Answer, classes: Labels
) -> dict[str, Signature]:
    """Return the signatures `top` and `top_pair` of an export, of the likeliest of many labels; none for few labels.

    Args:
        takes_pairs, model, answer: As for `text_signatures`; `answer` gives `probabilities` (B, C).
        classes: The labels.
    """
    if not has_many(classes):
        return {}

    def likeliest(outputs: Tensors, inputs: Tensors) -> Tensors:
        probabilities, numbers = ops.top_k(answer(outputs, inputs)["probabilities"], LIKELIEST)  # (B, K) each
        return {"labels": numbers, "probabilities": probabilities}

    def write(found: Tensors, *texts: Any) -> Tensors:
        return {**found, "labels": look_up(classes.names, found["labels"])}

    own = {"serving_default": "top", "pair": "top_pair"}
    return {own[name]: one for name, one in text_signatures(takes_pairs, model, likeliest, write).items()}


def number_labels(classes: Labels, scores: Tensor, from_logits: bool = True) -> Tensors:
    """Return the numbers of labels, and the probabilities, of B texts.

    Args:
        classes: The labels of the classifier.
        scores: (B, C), the output of a model.
        from_logits: Whether `scores` are logits; else they are probabilities, and stay as they are.

    Returns:
        For a single label, `label` (B,) and `probabilities` (B, C); for multi-label, `labels` (B, C), -1 where a label
        does not apply, and `probabilities`; for regression, `scores` (B, C).

    Example:

    >>> found = number_labels(Labels(("bad", "good"), "single_label"), [[0.25, 0.75]], from_logits=False)
    >>> ops.convert_to_numpy(found["label"]).tolist(), ops.convert_to_numpy(found["probabilities"]).tolist()
    ([1], [[0.25, 0.75]])
    """
    scores = ops.cast(scores, "float32")  # (B, C)
    if classes.problem == "regression":
        return {"scores": scores}
    if classes.problem == "single_label":
        return {"label": ops.argmax(scores, axis=-1), "probabilities": ops.softmax(scores) if from_logits else scores}
    probabilities = ops.sigmoid(scores) if from_logits else scores
    applying = ops.where(probabilities >= 0.5, ops.arange(len(classes.names)), -1)  # (B, C)
    return {"labels": applying, "probabilities": probabilities}


def name_labels(classes: Labels, found: Tensors, *texts: Any) -> Tensors:
    """Return a copy of `found`, from `number_labels`, with the names of labels in place of their numbers.

    Names are `""` for -1. Of many labels, those that apply to a text come first, and as many names are kept as the text
    with most labels has: `labels` (B, K) in place of (B, C).

    Args:
        classes: The labels of the classifier.
        found: Named tensors; other tensors among them are ignored.
        texts: Not read.

    Example:

    >>> found = {"label": np.array([1, 0])}
    >>> name_labels(Labels(("bad", "good"), "single_label"), found)["label"].shape
    TensorShape([2])
    """
    own = "label" if classes.problem == "single_label" else "labels"
    if own in found and own == "labels" and has_many(classes):
        found = {**found, own: _applying_first(found[own])}
    return {name: look_up(classes.names, column) if name == own else column for name, column in found.items()}


def _applying_first(numbers: Tensor) -> Tensor:
    """Return the numbers of labels (B, C) without the labels -1: (B, K), padded with -1 behind the last one."""
    if on_tensorflow():
        import tensorflow as tf

        return tf.ragged.boolean_mask(numbers, numbers >= 0).to_tensor(-1)
    numbers = ops.convert_to_numpy(numbers)
    counts = (numbers >= 0).sum(axis=1)  # (B,)
    packed = np.full((len(numbers), counts.max(initial=0)), -1)  # (B, K)
    packed[np.arange(packed.shape[1]) < counts[:, None]] = numbers[numbers >= 0]
    return packed


def describe_labels(classes: Labels, top: int | None = None) -> Describe:
    """Return a function from a row of `name_labels` to what `predict` returns for it.

    Args:
        classes: The labels.
        top: The number of probabilities, as of `LabelAnswers.predict`.

    Example:

    >>> describe_labels(Labels(("bad", "good"), "regression"))({"scores": np.array([1.5, 2.0])})
    {'scores': {'bad': 1.5, 'good': 2.0}}
    >>> row = {"label": "b", "probabilities": np.array([0.2, 0.5, 0.3])}
    >>> describe_labels(Labels(("a", "b", "c"), "single_label"), top=2)(row)
    {'label': 'b', 'probabilities': {'b': 0.5, 'c': 0.3}}
    """
    if top is None and has_many(classes):
        top = LIKELIEST
    named = _named if top is None or top >= len(classes.names) else partial(_named_likeliest, top)

    def describe(row: Mapping[str, Any]) -> dict[str, Any]:
        answer = {name: value for name, value in row.items() if name == "label"}
        if "labels" in row:
            answer["labels"] = [name for name in row["labels"] if name]
        for name in row.keys() & {"probabilities", "scores"}:
            answer[name] = named(classes.names, row[name])
        return answer

    return describe


def _named(names: tuple[str, ...], values: np.ndarray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _named_likeliest(top: int, names: tuple[str, ...], values: np.ndarray) -> dict[str, float]:
    """Return the largest of (C,) values by their names, the largest first, and of equal ones the first."""
    least = -np.partition(-values, top - 1)[top - 1]
    (places,) = np.nonzero(~(values < least))  # not `>=`, which is false for NaN
    places = places[np.argsort(-values[places], kind="stable")][:top]
    return {names[place]: float(values[place]) for place in places}
