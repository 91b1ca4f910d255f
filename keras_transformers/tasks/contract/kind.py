"""Kinds of tasks, which the file system lists: what is known of a task, and of its options, before a model is built."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from keras_transformers.checkpoints.settings.names import task_names
from keras_transformers.utils.untrusted import shown

LABELLED = "classification"  # the task of a bare model that is loaded with labels


class Kind(NamedTuple):
    """A kind of task: what is known before a model is built. `tasks/<name>.py` has it as `KIND`."""

    name: str
    make: Callable[..., Any]  # from a `Setup` and the task's options, its keyword-only arguments, to `Parts`
    models: tuple[str, ...]  # kinds of models that the task can use
    bare_models: tuple[str, ...] = ()  # of these, those whose weights without a head its model reads
    # For each option a function that raises a `ValueError` for wrong values, as far as no model is needed to tell.
    checks: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})
    of_checkpoint: tuple[str, ...] = ()  # options that `zoo.load` takes from the checkpoint alone
    new_layers: tuple[str, ...] = ()  # heads that are initialised at random if the checkpoint lacks them
    shares_head: tuple[str, ...] = ()  # tasks whose checkpoints have the same head, if it has one label
    saved_options: tuple[str, ...] = ()  # options that `save` stores beside the task's name
    needs_labels: bool = False  # to fit and evaluate, a text needs a label, or a target text
    takes_pairs: bool = False  # a text may have a second text
    needs_pairs: bool = False  # a text always has one
    joins_texts: bool = False  # the two texts of a pair are one row, with a segment each
    takes_messages: bool = False  # it learns from conversations, lists of messages, too
    takes_documents: bool = False  # it learns from documents, lists of sentences, rather than from texts
    takes_weights: bool = False  # a text is one row, so that it may have a weight
    lists_pairs: bool = False  # a text has a list of second texts
    writes_text: bool = False  # it has `generate` and `stream`
    # From a file to texts, labels and perhaps pairs, such as `tokens.conll.read_annotated`.
    read: Callable[..., tuple[list, Any] | tuple[list, Any, list]] | None = None
    labels_in: Callable[[Any], list[str]] | None = None  # from the labels in a file to the labels of the task
    held_out_by: str = "texts"  # or "pairs": rows with the same one are all trained on, or all held out

    @property
    def options(self) -> set[str]:
        """Names of the task's options, the keyword-only arguments of `make`."""
        return keyword_names(self.make)


def keyword_names(function: Callable) -> set[str]:
    """Return the names of a function's keyword-only arguments.

    Example:

    >>> keyword_names(lambda texts, *, buffer_size=1: texts)
    {'buffer_size'}
    """
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


def find_kind(name: str | None) -> Kind:
    """Return the kind of a task by its name: the file system is the registry.

    Args:
        name: One of `checkpoints.settings.names.task_names()`: the tasks for which a family has a class of
            `transformers`.

    Raises:
        ValueError: There is no such task.

    Example:

    >>> find_kind("classification").takes_pairs
    True
    """
    if name not in task_names():
        raise ValueError(f"task must be one of {task_names()}: received {name!r}.")
    return importlib.import_module(f"keras_transformers.tasks.{name}").KIND


def bare_kind(model: str) -> Kind:
    """Return the kind of task whose model reads the weights of a bare model, one without a head.

    Args:
        model: Kind of the model, such as `"encoder"`.

    Example:

    >>> bare_kind("decoder").name
    'causal_lm'
    """
    return next(kind for kind in map(find_kind, task_names()) if model in kind.bare_models)


def check_task_options(
    task: str | None, given: Mapping[str, Any], left_out: Iterable[str] = (), others: Iterable[str] = ()
) -> None:
    """Check the names of options of a task, and their values as far as no model is needed.

    Args:
        task: Name of the task; None for any task that has the option.
        given: Options by name.
        left_out: Names of options that the caller does not take.
        others: Names of further arguments of the caller, among which an error finds the nearest name, too.

    Raises:
        ValueError: There is no such task, the task has no such option, or the value is wrong.

    Example:

    >>> check_task_options("ranking", {"loss": "listwise"})
    >>> check_task_options("ranking", {"los": "listwise"})
    Traceback (most recent call last):
    ...
    ValueError: ranking has no option 'los': the nearest name is 'loss'. It has ['activation', ... 'score_tokens'].
    """
    asked = None if task is None else find_kind(task)
    for name, value in given.items():
        takers = [] if name in left_out else takers_of(name)
        if not takers or (asked is not None and asked not in takers):
            raise ValueError(_unknown(name, asked, takers, {*left_out}, {*others}))
        _check_value(name, value, takers if asked is None else [asked])


def takers_of(option: str) -> list[Kind]:
    """Return the kinds of tasks that have an option."""
    return [kind for kind in map(find_kind, task_names()) if option in kind.options]


def _check_value(name: str, value: Any, kinds: list[Kind]) -> None:
    """Raise the `ValueError` of the first kind of task, if the checks of all refuse the value."""
    faults = []
    for kind in kinds:
        if name not in kind.checks or (value is None and _default(kind.make, name) is None):
            continue
        try:
            kind.checks[name](value)
        except ValueError as fault:
            faults.append(fault)
    if len(faults) == len(kinds):
        raise faults[0]


def _default(function: Callable, name: str) -> Any:
    return inspect.signature(function).parameters[name].default


def _unknown(name: str, asked: Kind | None, takers: list[Kind], left_out: set[str], others: set[str]) -> str:
    """Return the error message for an option that a task, or every task, does not have."""
    kinds = [asked] if asked else [*map(find_kind, task_names())]
    known = sorted({option for kind in kinds for option in kind.options} - left_out)
    if asked and takers:
        owners = " or ".join(repr(kind.name) for kind in takers)
        return f"{name} belongs to task={owners}: received it with {asked.name!r}. It has {known}."
    near = difflib.get_close_matches(name, {*known, *others}, 1)
    nearest = f": the nearest name is {near[0]!r}" if near else ""
    if asked:
        return f"{asked.name} has no option {name!r}{nearest}. It has {known}."
    return f"no task has an option {name!r}{nearest}. There are {known}."


def flag(name: str) -> Callable[[Any], None]:
    """Return a check of an option that is True or False."""

    def check(value: Any) -> None:
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False: received {shown(value)}.")

    return check


def one_of(name: str, known: Iterable[str]) -> Callable[[Any], None]:
    """Return a check of an option that is one of some names."""
    names = [*known]

    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"{name} must be one of {names}: received {shown(value)}.")

    return check
