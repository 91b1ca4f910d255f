"""One training step of a model beside `transformers`: labels, losses, and gradients under their names there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformers.training.losses.target_losses import BinaryCrossEntropy, CrossEntropy

LOSSES = {
    "masked_lm": CrossEntropy,
    "classification": CrossEntropy,
    "token_classification": CrossEntropy,
    "replaced_tokens": BinaryCrossEntropy,
    "causal_lm": CrossEntropy,
}
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
    if task == "causal_lm":  # each token is the label of the one before it
        labels = np.pad(labels[:, 1:], [(0, 0), (0, 1)], constant_values=-1)
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
