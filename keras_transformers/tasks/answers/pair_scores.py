"""A score for a pair of texts that are read as one row: the model of ranking and multiple choice, and its rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.data.objectives.text_groups import Grouped
from keras_transformers.heads import grouped, text_classification_head
from keras_transformers.models import encoder
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.inputs.grouped_texts import Columns, group_source
from keras_transformers.tasks.inputs.labels import label_rows
from keras_transformers.tasks.inputs.sources import Write
from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.tensor_types import Tensor


def pair_scorer(setup: Setup, head: Callable[[Tensor, Tensor], Tensor] | None = None) -> keras.Model:
    """Return a model from the inputs of pairs (B, T) to `logits` (B, 1).

    Args:
        setup: Setup of the task.
        head: Function from hidden states (B, T, D) and the padding mask (B, T) to logits (B, 1); the classifier of the
            family, with one class, when None.
    """
    backbone = encoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    states, mask = backbone.output["hidden_states"], backbone.input["padding_mask"]  # (B, T, D), (B, T)
    head = head or partial(text_classification_head, setup.config, num_classes=1, dtype=setup.dtype)
    logits = head(states, mask)  # (B, 1)
    return keras.Model(backbone.input, {"logits": logits, **setup.optional_outputs(backbone)}, name="pair_scorer")


def choice_scorer(scorer: keras.Model) -> keras.Model:
    """Return a model from the inputs of groups of pairs (B, G, T) to `logits` (B, G)."""
    groups = grouped(scorer, "choice_groups")
    outputs = groups.output | {"logits": ops.squeeze(groups.output["logits"], -1)}
    return keras.Model(groups.input, outputs, name="choice_scorer")


def flat_pairs(texts: Any, pairs: Any) -> tuple[Any, Any, Any]:
    """Return rows of pairs from texts that have several second texts each.

    Args:
        texts: (B,) strings; in Python a list of str.
        pairs: (B, C) strings, padded with empty ones.

    Returns:
        Each text C times, (B * C,); the second texts, (B * C,); and which of them are no padding, (B, C) bool.
    """
    if on_tensorflow():
        import tensorflow as tf

        return tf.repeat(texts, tf.shape(pairs)[1]), tf.reshape(pairs, [-1]), pairs != ""
    flat = [pair for row in pairs for pair in row]
    repeated = [text for text, row in zip(texts, pairs, strict=True) for _ in row]
    return repeated, flat, np.array([[pair != "" for pair in row] for row in pairs])


def learn_choices(setup: Setup, scorer: keras.Model, write: Write | None = None) -> dict[str, Any]:
    """Return the parts of a task that learns which of several texts fits another one; all parts but `answers`.

    Args:
        setup: Setup of the task.
        scorer: The model of pairs, see `pair_scorer`.
        write: As in `text_source`.
    """
    source = group_source(setup, range(3, 1000), _choice_labels(setup), joined=True, write=write)
    return {
        "model": choice_scorer(scorer),
        "tokenizer": setup.tokenizer,
        "source": source,
        "objective": lambda: Grouped(setup.config.fill_id),
        "losses": lambda: {"logits": target_losses.CrossEntropy()},
        "metrics": lambda: {"logits": [target_metrics.Accuracy(), target_metrics.MeanCrossEntropy()]},
    }


def _choice_labels(setup: Setup) -> Callable[[Any, Columns], np.ndarray | None]:
    """Return a function that reads the numbers of the right choices, from 0."""

    def read(labels: Any, columns: Columns) -> np.ndarray | None:
        if labels is None:
            return None
        numbers, count = np.asarray(label_rows(labels)), len(columns) - 1
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ValueError(
                f"labels of {setup.kind.name} are the numbers of the right choices, one per row: received an array of "
                f"shape {numbers.shape} and type {numbers.dtype}."
            )
        if (wrong := (numbers < 0) | (numbers >= count)).any():
            row = int(wrong.argmax())
            raise ValueError(f"label {numbers[row]} in row {row}: expected the number of a choice, 0 to {count - 1}.")
        return numbers.astype(np.int32)

    return read
