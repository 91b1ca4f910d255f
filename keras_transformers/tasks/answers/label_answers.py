"""Predictions of a classifier: labels and probabilities, as tensors of an export and as `predict` returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras import ops

from keras_transformers.tasks.answers.one_pass import Describe
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.answers.signatures import look_up
from keras_transformers.tasks.inputs.labels import Labels
from keras_transformers.utils.tensor_types import Tensor


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

    Names are `""` for -1.

    Args:
        classes: The labels of the classifier.
        found: It may hold other tensors, too.
        texts: Not read.

    Example:

    >>> found = {"label": np.array([1, 0])}
    >>> name_labels(Labels(("bad", "good"), "single_label"), found)["label"].shape
    TensorShape([2])
    """
    own = "label" if classes.problem == "single_label" else "labels"
    return {name: look_up(classes.names, column) if name == own else column for name, column in found.items()}


def describe_labels(classes: Labels) -> Describe:
    """Return a function from a row of `name_labels` to what `predict` returns for it.

    Example:

    >>> describe_labels(Labels(("bad", "good"), "regression"))({"scores": np.array([1.5, 2.0])})
    {'scores': {'bad': 1.5, 'good': 2.0}}
    """

    def describe(row: Mapping[str, Any]) -> dict[str, Any]:
        answer = {name: value for name, value in row.items() if name == "label"}
        if "labels" in row:
            answer["labels"] = [name for name in row["labels"] if name]
        for name in row.keys() & {"probabilities", "scores"}:
            answer[name] = dict(zip(classes.names, row[name].tolist(), strict=True))
        return answer

    return describe
