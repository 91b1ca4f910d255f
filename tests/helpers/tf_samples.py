"""Outputs of checkpoints that TensorFlow's programs wrote, beside those of the programs themselves (reference.npz)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import Stored, UserOptions
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.heads import pooler
from keras_transformers.models import decoder, encoder
from keras_transformers.tasks import Task

# By the name of an output in a reference: its name here, and which part of it that is.
NAMES = {
    "hidden": "hidden_states", "last_hidden_state": "hidden_states", "pooled": "pooled", "pooler_output": "pooled",
    "next_sentence": "next_sentence_logits", "seq_relationship_logits": "next_sentence_logits",
    "prediction_logits": "masked_lm_logits", "start_logits": "start", "end_logits": "end",
}  # fmt: skip
BARE = {"hidden_states", "pooled"}
INPUTS = ("ids", "mask", "decoder_ids", "segment_ids", "texts")


def outputs(
    place: Path, reference: dict[str, np.ndarray], task: str | None = None, **said: Any
) -> dict[str, np.ndarray]:
    """Return our outputs for the ids of a reference, by the names of the reference; padding is zero.

    Args:
        place: Of the checkpoint.
        reference: What its reference.npz holds.
        task: The task of its head, if it does not say so.
        **said: What the user says of it.
    """
    wanted = {name: NAMES.get(name, name) for name in reference if name not in INPUTS}
    found = {}
    if BARE & {*wanted.values()}:
        found |= _bare(find_stored(place, UserOptions(**said)), reference, "pooled" in wanted.values())
    if {*wanted.values()} - BARE:
        found |= _head(zoo.load(place, task, **said), reference)
    return {name: _masked(found[ours], reference["mask"]) for name, ours in wanted.items() if ours in found}


def _bare(stored: Stored, reference: dict[str, np.ndarray], has_pooler: bool) -> dict[str, np.ndarray]:
    body = (encoder if stored.config.kind == "encoder" else decoder)(stored.config)
    found = {"hidden_states": body.output["hidden_states"]}
    if has_pooler:
        found["pooled"] = pooler(stored.config, found["hidden_states"])
    model = keras.Model(body.input, found)
    load_weights(model, stored)
    return model.predict(_inputs(model, reference), verbose=0)


def _head(task: Task, reference: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    if task.name == "multiple_choice":
        reference = {name: array[None] for name, array in reference.items()}
    found = task.model.predict(_inputs(task.model, reference), verbose=0)
    if task.name == "pretraining":
        found["logits"] = found["masked_lm_logits"]
    if task.name == "question_answering":
        found |= {"start": found["logits"][..., 0], "end": found["logits"][..., 1]}
    return found


def _inputs(model: keras.Model, reference: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    ids, mask = reference["ids"], reference["mask"]
    target = reference.get("decoder_ids", ids)
    values = {"token_ids": ids, "padding_mask": mask, "segment_ids": reference.get("segment_ids", np.zeros_like(ids))}
    if "encoder_token_ids" in model.input:
        values = {f"encoder_{name}": array for name, array in values.items()}
        values |= {"token_ids": target, "padding_mask": np.ones_like(target)}
    values["mask_positions"] = np.tile(np.arange(ids.shape[-1]), (len(ids), 1))
    return {name: values[name].astype("int32") for name in model.input}


def difference(found: dict[str, np.ndarray], reference: dict[str, np.ndarray]) -> float:
    """Return the largest difference at real positions, over all outputs; every output must be there."""
    mask = reference["mask"]
    expected = {name: array for name, array in reference.items() if name not in INPUTS}
    assert found.keys() == expected.keys(), (sorted(found), sorted(expected))
    return max(float(np.abs(found[name] - _masked(array, mask)).max()) for name, array in expected.items())


def _masked(array: np.ndarray, mask: np.ndarray) -> np.ndarray:
    is_of_tokens = array.ndim > 1 and array.shape[:2] == mask.shape
    return np.where(mask.reshape(mask.shape + (1,) * (array.ndim - 2)), array, 0) if is_of_tokens else array
