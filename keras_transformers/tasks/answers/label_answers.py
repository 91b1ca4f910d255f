"""Predictions of a classifier: labels and probabilities, as tensors of an export and as `predict` returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras import ops

from keras_transformers.tasks.answers.one_pass import Describe, look_up
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.inputs.labels import Labels
from keras_transformers.utils.tensor_types import Tensor


def answer_labels(classes: Labels, scores: Tensor, from_logits: bool = True) -> Tensors:
    """Return the labels and probabilities of B texts.

    Args:
        classes: The labels of the classifier.
        scores: (B, C), the output of a model.
        from_logits: Whether `scores` are logits; else they are probabilities, and stay as they are.

    Returns:
        For a single label, `label` (B,) and `probabilities` (B, C); for multi-label, `labels` (B, C), empty where a
        label does not apply, and `probabilities`; for regression, `scores` (B, C).

    Example:

    >>> answer = answer_labels(Labels(("bad", "good"), "single_label"), [[0.25, 0.75]], from_logits=False)
    >>> ops.convert_to_numpy(answer["probabilities"]).tolist()
    [[0.25, 0.75]]
    """
    scores = ops.cast(scores, "float32")  # (B, C)
    if classes.problem == "regression":
        return {"scores": scores}
    if classes.problem == "single_label":
        label = look_up(classes.names, ops.argmax(scores, axis=-1))  # (B,)
        return {"label": label, "probabilities": ops.softmax(scores) if from_logits else scores}
    probabilities = ops.sigmoid(scores) if from_logits else scores
    indices = ops.where(probabilities >= 0.5, ops.arange(len(classes.names)), -1)  # (B, C)
    return {"labels": look_up(classes.names, indices), "probabilities": probabilities}


def describe_labels(classes: Labels) -> Describe:
    """Return a function from a row of `answer_labels` to what `predict` returns for it.

    Example:

    >>> import numpy as np
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
