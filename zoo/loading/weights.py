"""The weights of a checkpoint in a task: which heads are kept, and in which order the labels stand."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from keras_transformers.checkpoints.settings.label_names import are_numbers
from keras_transformers.checkpoints.settings.names import names_of
from keras_transformers.tasks import Task
from keras_transformers.utils.untrusted import warn_user
from zoo.loading.checkpoint import Checkpoint

CLASSIFIER = "classifier"  # the layer with an output for each label
SPAN = "qa_outputs"  # the layer of a question answering model, which files of some families call a classifier


def assign_weights(task: Task, checkpoint: Checkpoint) -> None:
    """Assign the weights of a checkpoint to a task, with the weights of labels in the order of the task's labels."""
    layer, is_same_task = task.parts.label_layer, task.name == checkpoint.task
    steps = () if task.parts.step_layer is None else (task.parts.step_layer,)
    if is_same_task and not steps and "crf" in checkpoint.settings and checkpoint.settings["crf"]():
        warn_user("crf=False leaves out the conditional random field of the checkpoint, with which it was trained.")
    if layer is None and is_same_task and checkpoint.unknown_class and CLASSIFIER in task.kind.new_layers:
        _assign_if_it_fits(task, checkpoint, CLASSIFIER)
        return
    if layer is None or not is_same_task:
        fresh = (*_fresh_heads(task, checkpoint), *steps)
        kept = checkpoint.assign(task.model, missing_ok=task.kind.new_layers, fresh=fresh)
        _tell_missing({path.split("/")[0] for path in kept} - {*fresh}, checkpoint)
        return
    order = _order(task.labels, checkpoint)
    if checkpoint.unknown_class and order is not None:
        is_kept, fresh = _assign_if_it_fits(task, checkpoint, layer)
    else:
        is_kept = order is not None
        _tell(task, checkpoint, is_kept)
        fresh = checkpoint.assign(task.model, missing_ok=steps, fresh=() if is_kept else (layer, *steps))
    if not is_kept:
        return
    for weight in task.model.get_layer(layer).weights:  # kernel (D, C), bias (C,)
        weight.assign(keras.ops.take(weight, order, axis=-1))
    of_steps = [weight for name in steps for weight in task.model.get_layer(name).weights]  # (C, C), (C,), (C,)
    for weight in [weight for weight in of_steps if weight.path not in fresh]:
        for axis in range(len(weight.shape)):
            weight.assign(keras.ops.take(weight, order, axis=axis))


def _tell_missing(layers: set[str], checkpoint: Checkpoint) -> None:
    """Warn if layers start afresh that a model of the class in config.json has."""
    architecture = checkpoint.check().extra["architecture"]
    heads = names_of(checkpoint.config, "the checkpoint", architecture).architectures.get(architecture, ())
    if missing := [layer for layer in heads if layer in layers]:
        warn_user(
            f"the checkpoint's config.json names {architecture}, but it has no weights of {', '.join(missing)}: they "
            "start afresh, and have to be trained.",
        )


def _assign_if_it_fits(task: Task, checkpoint: Checkpoint, layer: str) -> tuple[bool, tuple[str, ...]]:
    """Assign the weights of a checkpoint of an unknown class.

    Returns:
        Whether its layer of labels is among them, and the paths of the variables that keep their initial values.
    """
    state = "is taken as it is"
    try:
        fresh = checkpoint.assign(task.model, missing_ok=task.kind.new_layers)
        if any(layer in path.split("/") for path in fresh):
            return False, fresh  # a bare model has no such layer
    except ValueError:  # nothing was assigned: the layer may have another number of labels
        fresh = checkpoint.assign(task.model, missing_ok=task.kind.new_layers, fresh=(layer,))
        state = "starts afresh, and has to be trained,"
    warn_user(
        f"the checkpoint's config.json names {checkpoint.unknown_class}, not known here: its {layer} {state} "
        f"for {task.name} {list(task.parts.attributes.get('labels', ()))}.",
    )
    return state == "is taken as it is", fresh


def _order(labels: Sequence[str], checkpoint: Checkpoint) -> list[int] | None:
    """Return the number of the checkpoint's output for each label; None if its classifier is for other labels."""
    if checkpoint.labels is None:  # it names none: in the order given
        return [*range(len(labels))]
    if sorted(labels) == sorted(checkpoint.labels):
        return [checkpoint.labels.index(label) for label in labels]
    has_names = not (checkpoint.fault or are_numbers(checkpoint.labels))
    return None if has_names or len(labels) != len(checkpoint.labels) else [*range(len(labels))]


def _fresh_heads(task: Task, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return the last layer of the head as one to start afresh, if the checkpoint's one is of another task.

    A classifier is kept where both tasks share it: one output that means the same.
    """
    if task.name == checkpoint.task:
        return ()
    if CLASSIFIER not in task.kind.new_layers:
        return (SPAN,) if SPAN in task.kind.new_layers and checkpoint.task is not None else ()
    is_shared = checkpoint.task in task.kind.shares_head and len(checkpoint.labels or ()) == 1
    return () if is_shared and task.model.output["logits"].shape[-1] == 1 else (task.parts.label_layer or CLASSIFIER,)


def _tell(task: Task, checkpoint: Checkpoint, is_kept: bool) -> None:
    """Warn if the checkpoint's classifier is dropped, gets new names, or is kept for another problem."""
    known = list(checkpoint.labels or task.labels)
    if is_kept and {*task.labels} != {*known}:
        warn_user(
            f"the checkpoint's classifier has no names for its labels but {known}: it is kept, and "
            f"its outputs are now called {list(task.labels)}, in this order.",
        )
    if not is_kept:
        warn_user(
            f"the checkpoint's classifier is for the labels {known}: for {list(task.labels)} it "
            "starts afresh, and has to be trained. To keep it, leave labels out or give the same ones.",
        )
    elif task.parts.attributes.get("problem", checkpoint.problem) != checkpoint.problem:
        warn_user(
            f"the checkpoint's classifier was trained for problem={checkpoint.problem!r}: it is kept for "
            f"{task.problem!r}, which needs training unless the checkpoint names the wrong problem.",
        )
