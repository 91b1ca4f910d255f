"""One training step of a model beside `transformers`: labels, losses, and gradients under their names there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import architecture_of
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.training.losses.target_losses import BinaryCrossEntropy, CrossEntropy

LABELS = ["no", "perhaps", "yes"]
LOSSES = {
    "masked_lm": CrossEntropy,
    "causal_lm": CrossEntropy,
    "classification": CrossEntropy,
    "token_classification": CrossEntropy,
    "replaced_tokens": BinaryCrossEntropy,
}
MOST_ROWS = 32_000  # of a token embedding: larger vocabularies are cut, for the memory
ROUNDING = 1e-6  # of the largest gradient: a key's bias changes no attention, and its gradient is of roundings alone


def random_labels(task: str, num_classes: int, padding_mask: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return labels of a batch: (B,) of texts or (B, T) of tokens, -1 where there is no target."""
    random = np.random.default_rng(seed)
    if task == "classification":
        return random.integers(0, num_classes, len(padding_mask))
    are_targets = padding_mask > (random.random(padding_mask.shape) if task == "masked_lm" else 0)
    return np.where(are_targets, random.integers(0, num_classes, padding_mask.shape), -1)


def our_gradients(model: keras.Model, inputs: Mapping[str, Any], labels: np.ndarray, task: str) -> tuple[float, list]:
    """Return the loss, and its gradient by each trainable weight; no dropout."""
    output = "masked_lm_logits" if task == "masked_lm" else "logits"
    if task == "causal_lm":  # the label of a token is the next one's, as their class has it
        labels = np.pad(labels[:, 1:], ((0, 0), (0, 1)), constant_values=-1)
    weights = [weight.value for weight in model.trainable_weights]
    with tf.GradientTape() as tape:
        loss = LOSSES[task]()(labels, model({name: inputs[name] for name in model.input})[output])
    found = tape.gradient(loss, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return float(loss), [tf.convert_to_tensor(gradient) for gradient in found]


def their_gradients(model: Any, tensors: Mapping[str, Any], labels: np.ndarray) -> tuple[float, dict[str, np.ndarray]]:
    """Return the loss of a class of `transformers`, and its gradient by each parameter."""
    import torch

    loss = model(**tensors, labels=torch.from_numpy(np.where(labels < 0, -100, labels))).loss
    loss.backward()
    return loss.item(), {name: weight.grad.numpy() for name, weight in model.named_parameters()}


def relative_difference(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> float:
    """Return the largest difference of gradients, each divided by the largest number of its tensor.

    Where that is a rounding, the largest of all tensors divides.
    """
    assert found.keys() == expected.keys()
    largest = {name: float(np.abs(array).max()) for name, array in expected.items()}
    top = max(largest.values())
    divisors = {name: value if value > ROUNDING * top else top for name, value in largest.items()}
    return max(float(np.abs(found[name] - array).max()) / divisors[name] for name, array in expected.items())


def compare(folder, ours, theirs, config, task, rows, length, **options):
    """Read a random checkpoint of `transformers`, take a step in both, write ours: the largest differences.

    Args:
        folder: An empty folder.
        ours, theirs: The fixtures of these names.
        config: Configuration of the model.
        task: One of `LOSSES`.
        rows, length: Shape of the batch.
        **options: Of `theirs.make`.
    """
    architecture = architecture_of(task, config.family)
    named = {"labels": LABELS, "problem": "single_label"} if task.endswith("classification") else {}
    settings = make_config(config, architecture, **named)
    reference = theirs.make(folder / "theirs", architecture, **options, **settings)
    again, extra = read_config(folder / "theirs")
    assert again == config
    model = ours.build(config, architecture, len(LABELS))
    load_weights(model, folder / "theirs")

    inputs = ours.batch(config, rows, length)
    expected = theirs.predict(reference, inputs)
    largest = max(float(abs(array).max()) for array in expected.values())
    found = {"logits": ours.difference(ours.predict(model, inputs), expected), "largest logit": largest}
    save_folder(folder / "ours", model, config, None, **extra)
    written = read_by_them(type(reference), folder / "ours")
    assert ours.difference(theirs.predict(written, inputs), expected) < 1e-6

    num_classes = dict.fromkeys(("masked_lm", "causal_lm"), config.vocabulary_size) | {"replaced_tokens": 2}
    labels = random_labels(task, num_classes.get(task, len(LABELS)), inputs["padding_mask"])
    loss, gradients = our_gradients(model, inputs, labels, task)
    their_loss, expected = their_gradients(reference, theirs.inputs(reference, inputs), labels)
    assert loss == pytest.approx(their_loss, rel=1e-5)
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        weight.assign(gradient)
    save_folder(folder / "gradients", model, config, None, **extra)  # under their names, in their shapes
    written = read_by_them(type(reference), folder / "gradients")
    arrays = {name: weight.detach().numpy() for name, weight in written.named_parameters()}
    return found | {"gradients": relative_difference(arrays, expected)}


def read_by_them(kind, folder):
    """Return a model of `transformers` from a folder that holds its tensors and no others."""
    model, report = kind.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    return model.eval()


def cut(config):
    """Return a configuration of at most so many tokens; special tokens behind them are left out."""
    if config.vocabulary_size <= MOST_ROWS:
        return config
    kept = config.pad_id if (config.pad_id or 0) < MOST_ROWS else 0
    eos_ids = tuple(token for token in config.eos_ids if token < MOST_ROWS)
    bos_id = config.bos_id if config.bos_id is not None and config.bos_id < MOST_ROWS else None
    return config.replace(vocabulary_size=MOST_ROWS, pad_id=kept, bos_id=bos_id, eos_ids=eos_ids)
