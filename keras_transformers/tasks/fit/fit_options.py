"""Options of `Task.fit`: checks before the first step, and callbacks as a list."""

from __future__ import annotations

import difflib
import dis
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import keras

from keras_transformers.tasks.answers.progress import CHOICES
from keras_transformers.tasks.inputs.sources import check_given
from keras_transformers.training.averaging import AverageEpochs
from keras_transformers.training.optimizers.adamw import SCHEDULED, AdamW
from keras_transformers.training.resuming.resume import Resume
from keras_transformers.utils.number_checks import is_count, is_size

# Options of `keras.Model.fit` that are read here, or passed on.
OF_KERAS = (
    "callbacks", "initial_epoch", "shuffle", "steps_per_epoch", "validation_batch_size", "validation_freq",
    "validation_steps", "verbose",
)  # fmt: skip
INSTEAD = {"x": "texts", "y": "labels"} | dict.fromkeys(
    ("loss", "loss_weights", "metrics", "weighted_metrics", "jit_compile", "run_eagerly", "steps_per_execution"),
    "compile_options={{{0!r}: ...}}",
)
OF_FIT = ("learning_rate", "weight_decay", "clip_norm", "accumulation_steps", "ema_momentum")
OF_ADAMW = inspect.signature(AdamW.__init__).parameters.keys() - {"self", "name"}
OF_DICTS = ("dataset_options", "optimizer_options", "compile_options")
OTHER_OPTIMIZER = (
    "fit uses AdamW. For another optimizer, call task.compile(optimizer), then task.model.fit(task.dataset(...))."
)
RATES = ("learning_rate", "lr")
SET_THE_RATE = (keras.callbacks.ReduceLROnPlateau, keras.callbacks.LearningRateScheduler)


def check_fit(texts: Any, epochs: Any, options: dict[str, Any]) -> None:
    """Check the arguments of `fit` that `dataset` and the optimizer do not check.

    Args:
        texts: The texts to learn from.
        epochs: The number of the last epoch.
        options: Options of `keras.Model.fit`.

    Raises:
        ValueError: An option is unknown or has another name in `Task.fit`, a number is out of range, or the texts are a
            stream.
    """
    for name in options:
        if name in INSTEAD:
            raise ValueError(f"fit has no argument {name!r}: received one. Expected {INSTEAD[name].format(name)}.")
        if name == "optimizer":
            raise ValueError(f"received optimizer=: {OTHER_OPTIMIZER}")
        if name not in OF_KERAS:
            near = difflib.get_close_matches(name, {*OF_KERAS, *OF_ADAMW, *OF_DICTS}, 1)
            nearest = f" The nearest name is {near[0]!r}." if near else ""
            raise ValueError(
                f"fit has no argument {name!r}: received one.{nearest} Of Keras' fit, it takes {list(OF_KERAS)}; "
                f"of AdamW, {sorted(OF_ADAMW)}."
            )
    _check_has_length(texts)
    if not is_count(epochs):
        raise ValueError(f"epochs must be a whole number: received {epochs!r}.")
    first = options.get("initial_epoch", 0)
    if not (is_count(first) and first <= epochs):
        raise ValueError(
            f"initial_epoch must be a whole number, from 0 to epochs={epochs}, the number of the last one: received "
            f"{first!r}."
        )
    for name in ("steps_per_epoch", "validation_batch_size", "validation_steps"):
        if (number := options.get(name)) is not None and not is_size(number):
            raise ValueError(f"{name} must be a whole number, at least 1, or None: received {number!r}.")
    _check_others(**options)


def _check_others(verbose: Any = "auto", shuffle: Any = True, validation_freq: Any = 1, **options: Any) -> None:
    if not isinstance(verbose, (str, int)) or verbose not in CHOICES:
        raise ValueError(f"verbose must be one of {CHOICES}: received {verbose!r}.")
    if not isinstance(shuffle, bool):
        raise ValueError(f"shuffle must be True or False: received {shuffle!r}.")
    epochs = validation_freq if isinstance(validation_freq, (list, tuple, set)) else [validation_freq]
    if not (epochs and all(map(is_size, epochs))):
        raise ValueError(
            f"validation_freq must be a whole number of epochs, at least 1, or a list of their numbers from 1: "
            f"received {validation_freq!r}."
        )


def _check_has_length(texts: Any) -> None:
    """Raise a `ValueError` if there are no texts, or the number of steps is unknown."""
    check_given(texts)
    if hasattr(texts, "element_spec"):
        raise ValueError(
            "fit needs the number of steps for its schedule, and a stream has none: use "
            "task.model.fit(task.dataset(stream), epochs=...) with an optimizer of your own in task.compile."
        )


class Divided(NamedTuple):
    """The further options of a `fit`, by what takes them: `Task.dataset`, `AdamW`, `Task.compile` and Keras' `fit`."""

    dataset: dict[str, Any]
    optimizer: dict[str, Any]
    compile: dict[str, Any]
    fit: dict[str, Any]


def divide_options(options: dict[str, Any]) -> Divided:
    """Return the further options of a `fit` by what takes them.

    Args:
        options: Options of `AdamW` and of `keras.Model.fit`, and dicts `dataset_options`, `optimizer_options` and
            `compile_options`, or None.

    Raises:
        ValueError: As for `check_options`; or an option of the optimizer is given twice.

    Example:

    >>> divide_options({"verbose": 0, "clip_norm": None, "optimizer_options": {"beta_2": 0.98}}).optimizer
    {'clip_norm': None, 'beta_2': 0.98}
    """
    given = {name: options.get(f"{name}_options") for name in ("dataset", "optimizer", "compile")}
    check_options(*given.values())
    dataset, optimizer, compiled = ({**(value or {})} for value in given.values())
    named = {name: value for name, value in options.items() if name in OF_ADAMW}
    if twice := sorted(named.keys() & optimizer.keys()):
        raise ValueError(f"received {twice} twice: as options of fit, and in optimizer_options. Leave one of them out.")
    rest = {name: value for name, value in options.items() if name not in OF_ADAMW and name not in OF_DICTS}
    return Divided(dataset, {**named, **optimizer}, compiled, rest)


def check_options(dataset_options: Any, optimizer_options: Any = None, compile_options: Any = None) -> None:
    """Check that the options are dicts with names that `AdamW` and `keras.Model.compile` have.

    Raises:
        ValueError: A name is unknown, or an argument of `fit` itself.
    """
    options = {"optimizer_options": optimizer_options, "compile_options": compile_options}
    for argument, given in {"dataset_options": dataset_options, **options}.items():
        if not isinstance(given, (dict, type(None))):
            raise ValueError(f"{argument} must be a dict of names and values: received {given!r}.")
    functions = AdamW.__init__, keras.Model.compile
    for (argument, given), function in zip(options.items(), functions, strict=True):
        if "optimizer" in (given or {}):
            raise ValueError(f"received {argument}={{'optimizer': ...}}: {OTHER_OPTIMIZER}")
        names = inspect.signature(function).parameters.keys() - {"self", "optimizer", *OF_FIT}
        if unknown := sorted((given or {}).keys() - names):
            raise ValueError(
                f"{argument} has no {unknown}; it has {sorted(names)}. (Of fit itself are {', '.join(OF_FIT)}.)"
            )


def read_callbacks(given: Any) -> list[keras.callbacks.Callback]:
    """Return the callbacks of a `fit` as a list.

    Args:
        given: None, one, several in a list or another iterable, or a `keras.callbacks.CallbackList`.

    Raises:
        ValueError: One of them is no callback.

    Example:

    >>> len(read_callbacks(keras.callbacks.TerminateOnNaN()))
    1
    """
    if isinstance(given, keras.callbacks.CallbackList):
        return list(given.callbacks)
    if given is None:
        return []
    is_several = isinstance(given, Iterable) and not isinstance(given, (str, type))
    callbacks = keras.tree.flatten(list(given)) if is_several else [given]
    for callback in callbacks:
        if isinstance(callback, type):
            raise ValueError(f"callbacks has the class {callback.__name__}: expected an object, {callback.__name__}().")
        if not hasattr(callback, "set_model"):
            raise ValueError(f"callbacks must be a list of keras.callbacks.Callback: received {callback!r} in it.")
    return callbacks


def check_rate_is_free(rate: Any, callbacks: Sequence[keras.callbacks.Callback]) -> None:
    """Check that no callback sets a learning rate that follows a schedule: Keras would end `fit` there.

    Args:
        rate: A number, or a schedule.
        callbacks: The callbacks, as a list.

    Raises:
        ValueError: A callback does.
    """
    for callback in callbacks if callable(rate) else ():
        if isinstance(callback, SET_THE_RATE) or any(map(_sets_rate, _functions(callback))):
            raise ValueError(SCHEDULED.format(f"received the callback {type(callback).__name__}, which sets it"))


def _functions(callback: Any) -> Iterator[Callable]:
    """Yield the functions of a callback and its classes."""
    for owner in (callback, *type(callback).__mro__):
        yield from map(inspect.unwrap, filter(inspect.isfunction, getattr(owner, "__dict__", {}).values()))


def _sets_rate(function: Callable) -> bool:
    """Return whether a function contains `optimizer.learning_rate = ...` or `optimizer.learning_rate.assign(...)`."""
    steps = [(step.opname, _last(step.argval)) for step in dis.get_instructions(function)]
    for (_, owner), (action, name), (_, following) in zip(steps, steps[1:], steps[2:], strict=False):
        if owner == "optimizer" and name in RATES and (action == "STORE_ATTR" or following == "assign"):
            return True
    return False


def _last(names: Any) -> Any:
    """Return the last of the names that an instruction loads: Python 3.13 may load two variables at once."""
    return names[-1] if isinstance(names, tuple) and names else names


def fit_callbacks(
    dataset: Any, given: Sequence[keras.callbacks.Callback], resume: str | os.PathLike | None
) -> list[keras.callbacks.Callback]:
    """Return the callbacks of a `fit`.

    Args:
        dataset: The data set, whose order in an epoch then depends on the epoch's number alone; None if its passes do
            not end with epochs.
        given: The callbacks of the user.
        resume: Folder in which the run and the state of these callbacks are saved, or None.
    """
    averages = [callback for callback in given if isinstance(callback, AverageEpochs)]
    others = [callback for callback in given if callback not in averages]
    saving = [] if resume is None else [Resume(resume, dataset, callbacks=given)]
    of_run = [*others, *saving, *averages]  # a run resumes from its own weights, not from their mean
    if dataset is None:
        return of_run
    by_epoch = keras.callbacks.LambdaCallback(lambda epoch, logs: setattr(dataset.position, "epoch", epoch))
    return [by_epoch, *of_run]
