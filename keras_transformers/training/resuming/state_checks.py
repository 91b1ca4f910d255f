"""Checks of what `Resume` is given: data set, variables and steps must match the saved run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.training.resuming.run_state import group
from keras_transformers.training.workers.distribute import on_tensorflow


def check_dataset(dataset: Any) -> None:
    """Raise a `ValueError` for a data set without a position; warn of one without an identity."""
    if not hasattr(dataset, "position"):
        raise ValueError(_without_position(dataset))
    if not hasattr(dataset, "identity"):
        warnings.warn(
            f"{dataset} has no `identity`, so Resume cannot check whether a later run has the same data. Expected a "
            "data set made by `task.dataset`.",
            stacklevel=3,
        )


def check_variables(folder: Path, groups: Mapping[str, list], arrays: Mapping[str, np.ndarray]) -> None:
    """Raise a `ValueError` if the saved arrays do not have the number and shapes of the variables of each group."""
    for name, variables in groups.items():
        saved = [tuple(a.shape) for a in group(arrays, name)]
        shapes = [tuple(v.shape) for v in variables]
        if saved != shapes:
            differing = [v.path for v, s, t in zip(variables, saved, shapes, strict=False) if s != t][:5]
            raise ValueError(
                f"Received a run in {folder} with {len(saved)} {name} variables, and a model with {len(shapes)}; "
                f"differing shapes: {differing or 'none of those in both'}. Expected the model, optimizer and metrics "
                "that the run was started with; for another, choose another folder."
            )


def check_steps(dataset: Any, steps: int | None) -> None:
    """Raise a `ValueError` if `fit` has another number of steps an epoch than the data set has batches."""
    if steps not in (None, dataset.num_batches):
        raise ValueError(
            f"Received a dataset of {dataset.num_batches} batches for Resume, and {steps} steps an epoch in fit. "
            "Expected the same dataset in both, and no steps_per_epoch."
        )


def _without_position(dataset: Any) -> str:
    """Return the error message for a data set that `Resume` cannot use, with the remedy."""
    transformation = None
    if on_tensorflow():
        from keras_transformers.data.batches.tf_batches import lost_by

        transformation = lost_by(dataset)
    if transformation is None:
        return (
            f"Received a dataset without `position`: {dataset}. Expected one made by `task.dataset` or "
            "`keras_transformers.data.batches.pipeline.batches`."
        )
    return (
        f"Received a dataset without `position`: `{transformation}` lost it, as well as the number of batches and the "
        f"identity of the data, as it may change the number or order of batches. Expected a dataset without "
        f"`{transformation}`: use the options of `task.dataset`, transform the texts before it, or `map` the batches."
    )
