"""Checks of a graph in another program's format: it is read, and computes what the model does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from keras import ops

from keras_transformers.tasks.contract.from_ids import FromIds

Program = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]  # from inputs to outputs by name, batch first
TOLERANCE = 1e-3  # of outputs in float32


def cannot_hold(format: str, error: Exception) -> ValueError:
    """Return the error for a model with an operation that a format does not have."""
    return ValueError(
        f'the model has an operation that format="{format}" cannot hold: {error}. Export it as a SavedModel: leave '
        "format out."
    )


def check_outputs(program: Program, from_ids: FromIds, runtime: str, shape: Sequence[int] | None = None) -> None:
    """Raise a `RuntimeError` if a program gives other numbers than the model for a few tokens.

    Args:
        program: The graph in its runtime.
        from_ids: The model and its outputs.
        runtime: Name and version of the runtime, for the error message.
        shape: Shape of the inputs; None for a small one.
    """
    shape = (2, 3, 4)[-from_ids.rank :] if shape is None else shape
    draws = np.random.default_rng(0).integers(0, 8, shape, "int32")
    marks = {name: np.full(shape, name == "attention_mask", "int32") for name in from_ids.names}
    columns = {**marks, "input_ids": draws}
    expected = from_ids.run(*columns.values())
    for name, found in program(columns).items():
        value = ops.convert_to_numpy(expected[name])
        # Logits of padding are very low ones, the same in both.
        if not np.allclose(found, value, rtol=TOLERANCE, atol=TOLERANCE * max(1.0, float(np.abs(value).mean()))):
            raise RuntimeError(
                f"{runtime} computes other {name} than the model, by up to {np.abs(found - value).max():g}: nothing "
                "was written. Please report the model and this version."
            )
