"""Write any checkpoint as a folder in the Hugging Face layout, tensor by tensor."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import keras

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.settings.names import architecture_of
from keras_transformers.checkpoints.weights.loading import fitting_tensors
from keras_transformers.checkpoints.weights.saving import DTYPES, save_folder
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.tasks.contract.kind import Kind, bare_kind
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.text.tokenizer import Tokenizer
from zoo.loading.checkpoint import Checkpoint, chosen_kind


class Converted(NamedTuple):
    """The facts of a converted checkpoint.

    Args:
        writer: The program that wrote the checkpoint.
        config: The model's configuration.
        weights: Number of weights.
        dtype: Dtype of the stored weights.
        architecture: The class of `transformers` that reads it.
        labels: Labels of a classifier.
        tokenizer: The tokenizer of source texts.
        assumed: Assumptions about facts that the checkpoint lacks, a clause each.
    """

    writer: str
    config: TransformerConfig
    weights: int
    dtype: str
    architecture: str
    labels: Sequence[str] | None
    tokenizer: Tokenizer
    assumed: Sequence[str]


def convert(
    checkpoint: Checkpoint, folder: str | os.PathLike, dtype: str | None = None, task: str | None = None
) -> Converted:
    """Write a checkpoint as a Hugging Face folder, which `zoo.load` reads, with one tensor at a time in memory.

    Args:
        checkpoint: Result of `_find.find`.
        folder: The folder to write, as for `Task.save`.
        dtype: Dtype of the stored weights; the one that most weights of the checkpoint have when None.
        task: Task that the checkpoint was made for, if its files do not name it.

    Raises:
        ValueError: The checkpoint has no weights, or they do not fit; or `folder` holds something else.
    """
    stored = checkpoint.check()
    config, is_bare = checkpoint.config, task is None and checkpoint.task is None and not checkpoint.unknown_class
    kind = bare_kind(config.kind) if is_bare else chosen_kind(stored.place, task, checkpoint)
    checkpoint = checkpoint.asked_for(kind.name)
    parts, max_length = _parts(kind, checkpoint)
    tensors = fitting_tensors(parts.model, stored, is_bare)
    if is_bare:
        options: dict[str, Any] = {"architecture": stored.extra["architecture"]}
    else:
        kept = {} if kind.writes_text else checkpoint.kept
        of_task = {"name": kind.name, **parts.saved_options}
        options = {"architecture": architecture_of(kind.name, config.family), "task": of_task, **kept, **parts.saved()}
    options |= {"dtype": dtype or _usual_dtype(tensors.values()), "max_length": max_length, "tensors": tensors}
    save_folder(folder, parts.model, config, parts.saved_tokenizer or parts.tokenizer, **options)
    return Converted(
        stored.writer,
        config,
        sum(prod(tensor.shape) for tensor in tensors.values()),
        options["dtype"],
        options["architecture"],
        options.get("labels"),
        parts.tokenizer,
        stored.assumed,
    )


def _parts(kind: Kind, checkpoint: Checkpoint) -> tuple[Parts, int]:
    """Return the parts of a task whose model has weights without values, which take no memory; and its `max_length`."""
    options = checkpoint.options({"max_length", *kind.options}, kind.name)
    max_length = options.pop("max_length", checkpoint.config.max_length)
    setup = Setup(kind, checkpoint.config, checkpoint.tokenizer, max_length, (), "float32")
    with keras.StatelessScope(initialize_variables=False):
        return kind.make(setup, **options), max_length


def _usual_dtype(tensors: Iterable[Tensor]) -> str:
    """Return the dtype that most weights have, among those that weights are stored in."""
    counts = Counter({"float32": 0})
    for tensor in tensors:
        counts[tensor.dtype if tensor.dtype in DTYPES else "float32"] += prod(tensor.shape)
    return counts.most_common(1)[0][0]
