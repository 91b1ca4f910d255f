"""Gives a task the weights of a checkpoint: which heads it keeps, and in what order its labels stand."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import keras

from keras_transformers.tasks import Task

if TYPE_CHECKING:
    from zoo._load import Checkpoint

CLASSIFIER = "classifier"  # the layer whose width goes by the labels


def assign_weights(task: Task, checkpoint: Checkpoint) -> None:
    """Gives a task the weights of a checkpoint, those of labels in the order of the task's labels."""
    layer = task.parts.label_layer
    if layer is None or task.name != checkpoint.task:
        fresh = _fresh_heads(task, checkpoint)
        checkpoint.assign(task.model, missing_ok=task.kind.new_layers, fresh=fresh)
        return
    is_same = sorted(task.labels) == sorted(checkpoint.labels)
    _tell(task, checkpoint, is_same)
    checkpoint.assign(task.model, fresh=() if is_same else (layer,))
    if not is_same:
        return
    order = [checkpoint.labels.index(label) for label in task.labels]
    for weight in task.model.get_layer(layer).weights:  # kernel (D, C), bias (C,)
        weight.assign(keras.ops.take(weight, order, axis=-1))


def _fresh_heads(task: Task, checkpoint: Checkpoint) -> tuple[str, ...]:
    """The classifier, where that of the checkpoint is of another task, unless both give one number for the same."""
    if task.name == checkpoint.task or CLASSIFIER not in task.kind.new_layers:
        return ()
    is_shared = checkpoint.task in task.kind.shares_head and len(checkpoint.labels or ()) == 1
    is_shared = is_shared and task.model.get_layer(CLASSIFIER).kernel.shape[-1] == 1
    return () if is_shared else (CLASSIFIER,)


def _tell(task: Task, checkpoint: Checkpoint, is_same: bool) -> None:
    """Warns of a classifier that is not what it was trained to be."""
    if not is_same:
        warnings.warn(
            f"the checkpoint's classifier is for the labels {list(checkpoint.labels)}: for {list(task.labels)} it "
            "starts afresh, and has to be trained. To keep it, leave labels out or give the same ones.",
            stacklevel=5,  # where `zoo.load` is called
        )
    elif task.parts.attributes.get("problem", checkpoint.problem) != checkpoint.problem:
        warnings.warn(
            f"the checkpoint's classifier was trained for problem={checkpoint.problem!r}: it is kept for "
            f"{task.problem!r}, which needs training unless the checkpoint is wrong about itself.",
            stacklevel=5,  # where `zoo.load` is called
        )
