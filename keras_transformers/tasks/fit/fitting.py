"""Fine-tune a task: all arguments are checked before the model is compiled again."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.tasks.fit.fit_options import check_fit, check_rate_is_free, fit_callbacks, read_callbacks
from keras_transformers.tasks.fit.held_out import hold_out, validation_set
from keras_transformers.tasks.fit.late_logs import LateCallbacks
from keras_transformers.tasks.fit.trainable import Trainable
from keras_transformers.tasks.inputs.sources import check_learnable
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.resuming.state_checks import check_steps
from keras_transformers.training.workers.distribute import on_tensorflow, scope


class Recipe(NamedTuple):
    """The settings of a `fit`.

    Args:
        settings: Settings of `Task.dataset` for the training data.
        dataset_options: Further settings, for training and validation data.
        optimizer: Arguments of `AdamW`, without the learning rate.
        compile_options: Options of `Task.compile`.
        rate: Function from the number of updates to a learning rate or a schedule.
        resume: Folder in which the run is saved, or None.
    """

    settings: dict[str, Any]
    dataset_options: dict[str, Any]
    optimizer: dict[str, Any]
    compile_options: dict[str, Any]
    rate: Callable[[int], Any]
    resume: str | os.PathLike | None


def fit(
    task: Trainable,
    rows: dict[str, Any],
    epochs: int,
    recipe: Recipe,
    held_out: tuple[Any, Any],
    options: dict[str, Any],
) -> Any:
    """Fit a task.

    Args:
        task: The task; its model is compiled again, and learns.
        rows: `texts`, `labels`, `pairs` and `sample_weight`, or None in their place.
        epochs: The number of the last epoch.
        recipe: The settings.
        held_out: `validation_data` and `validation_split`.
        options: Options of `keras.Model.fit`.

    Returns:
        Keras' `History`.

    Raises:
        ValueError: As for `Task.fit`.
    """
    options = {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}
    check_fit(rows["texts"], epochs, options)
    callbacks = read_callbacks(options.pop("callbacks", None))
    check_rate_is_free(recipe.rate(1), callbacks)  # before texts are tokenized
    rows, validation_data = hold_out(rows, *held_out)
    check_learnable(task.kind, task.parts, rows["texts"], rows["labels"], rows["pairs"])
    shuffle = {"shuffle": options.pop("shuffle", True)}
    dataset = task.dataset(**rows, **{**recipe.settings, **shuffle, **recipe.dataset_options})
    measured = {"batch_size": recipe.settings["batch_size"], **recipe.dataset_options}
    if (size := options.pop("validation_batch_size", None)) is not None:
        measured |= {"batch_size": size, "batch_tokens": None}
    is_part = options.get("validation_steps") is not None  # the first rows given, not the longest
    validation = validation_set(task, validation_data, measured, in_order=is_part)

    steps = _steps(dataset, options.pop("steps_per_epoch", None), recipe.resume)
    updates = (epochs - options.get("initial_epoch", 0)) * (steps or dataset.num_batches)
    rate = recipe.rate(updates // recipe.optimizer["accumulation_steps"])
    callbacks = fit_callbacks(None if steps else dataset, callbacks, recipe.resume)
    with scope(getattr(task.model, "distribute_strategy", None)):
        task.compile(AdamW(rate, **recipe.optimizer), **recipe.compile_options)
        # Keras would build it in the first step, and a step that makes variables is traced twice.
        task.model.optimizer.build(task.model.trainable_variables)
    dataset = dataset.repeat() if steps else dataset  # a pass continues from one epoch to the next
    settings = {"epochs": epochs, "steps_per_epoch": steps, "validation_data": validation}
    settings["callbacks"] = callbacks if on_tensorflow() else _late(task, callbacks, epochs, dataset, **options)
    # The data set shuffles by itself; Keras would warn, or on JAX shuffle the batches again.
    return task.model.fit(dataset, shuffle=False, **settings, **options)


def _late(
    task: Trainable, callbacks: list, epochs: int, dataset: Any, verbose: Any = "auto", **options: Any
) -> LateCallbacks:
    about = {"verbose": verbose, "epochs": epochs, "steps": dataset.num_batches, "model": task.model}
    return LateCallbacks(callbacks, add_history=True, add_progbar=verbose != 0, **about)


def _steps(dataset: Any, steps: int | None, resume: Any) -> int | None:
    """Return the batches of an epoch; None for all of the data set."""
    if steps is None or steps == dataset.num_batches:
        return None
    if resume is not None:
        check_steps(dataset, steps)
    if not on_tensorflow():
        raise ValueError(
            f"received steps_per_epoch={steps} for {dataset.num_batches} batches: only TensorFlow can end an epoch "
            "within the data. Leave it out."
        )
    return steps
