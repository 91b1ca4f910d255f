"""What holds for everything that attends: padding changes nothing, and causal outputs do not see the future."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from arrays import normal, to_numpy, tolerance


def check_padding(run: Callable, hidden_states: np.ndarray, lengths: np.ndarray, dtype: str = "float32") -> None:
    """`run(hidden_states, mask) -> (B, T, D)` gives a row what it gives for its first `lengths[row]` tokens alone."""
    mask = np.arange(hidden_states.shape[1]) < lengths[:, None]
    padded = np.where(mask[..., None], hidden_states, normal(*hidden_states.shape, seed=5, scale=10))
    outputs = to_numpy(run(padded.astype("float32"), mask))
    for row, length in enumerate(lengths):
        alone = to_numpy(run(hidden_states[row : row + 1, :length], mask[row : row + 1, :length]))
        np.testing.assert_allclose(outputs[row, :length], alone[0], **tolerance(dtype))


def check_causal(run: Callable, hidden_states: np.ndarray) -> None:
    """`run(hidden_states) -> (B, T, D)` gives position i the same numbers whatever stands after it, to the last bit."""
    outputs = to_numpy(run(hidden_states))
    for cut in range(1, hidden_states.shape[1]):
        changed = np.concatenate([hidden_states[:, :cut], hidden_states[:, cut:] + 3], axis=1)
        others = to_numpy(run(changed))
        np.testing.assert_array_equal(outputs[:, :cut], others[:, :cut])
        assert np.abs(outputs[:, cut:] - others[:, cut:]).max() > 1e-3


def same_dropout(layer: keras.Layer, run: Callable) -> Callable:
    """`run`, with the layer's dropout masks the same at each call."""
    seeds = [(variable, keras.ops.convert_to_numpy(variable)) for variable in layer.non_trainable_variables]
    assert seeds, "the layer has no dropout"

    def wrapped(*arguments: Any) -> Any:
        for variable, value in seeds:
            variable.assign(value)
        return run(*arguments)

    return wrapped
