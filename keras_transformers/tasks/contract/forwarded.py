"""Attributes of a task that its answers have, with the section of their docstrings that each task writes itself."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from keras_transformers.utils.untrusted import shown

SECTION = r"^{title}:\n((?:    .*\n|\n(?=    ))+)"


@cache
def find_section(function: Callable, title: str) -> str:
    """Return a section of a function's docstring, indented as it is there; empty if there is none.

    Example:

    >>> find_section(find_section, "Note")
    ''
    """
    found = re.search(SECTION.format(title=title), (inspect.getdoc(function) or "") + "\n", re.MULTILINE)
    return found[1] if found else ""


def with_section(method: Callable[..., Any], title: str, text: str) -> Callable[..., Any]:
    """Return a method whose docstring has another text in one of its sections.

    Args:
        method: The method; it stays as it is.
        title: Title of a section in the docstring.
        text: New text of the section, indented; empty to keep the section as it is.

    Example:

    >>> def double(number):
    ...     '''Double a number.
    ...
    ...     Returns:
    ...         A number.
    ...     '''
    ...     return 2 * number
    >>> own = with_section(double, "Returns", "    An even number.\\n")
    >>> own(2), find_section(own, "Returns")
    (4, '    An even number.\\n')
    """

    @wraps(method)
    def own(*arguments: Any, **options: Any) -> Any:
        return method(*arguments, **options)

    if text:
        own.__doc__ = _replaced(method.__doc__ or "", title, text)
    return own


@cache  # a method is asked for at each call
def _replaced(docstring: str, title: str, text: str) -> str:
    section = re.compile(SECTION.format(title=title), re.MULTILINE)
    return section.sub(lambda _: f"{title}:\n{text}", inspect.cleandoc(docstring) + "\n")


def of_answers(name: str, doc: str, section: str = "", own: str = "", is_set: bool = False) -> property:
    """Return a property of a task that is an attribute of its answers, a `OnePass` or a `Writing`.

    Args:
        name: Name of the attribute.
        doc: Docstring of the property.
        section: Section of a method's docstring: it says what the section `own` of the task's function says.
        is_set: Whether the attribute can be set.
    """

    def attribute(task: Any) -> Any:
        check_process(task.process)
        found = getattr(task.parts.answers, name)
        return with_section(found, section, find_section(task.kind.make, own)) if section else found

    def set_attribute(task: Any, value: Any) -> None:
        check_process(task.process)
        if not hasattr(task.parts.answers, name):
            raise AttributeError(f"the task has no attribute {name!r}.")
        setattr(task.parts.answers, name, value)

    return property(attribute, set_attribute if is_set else None, doc=doc)


def check_process(process: int) -> None:
    """Raise a `ValueError` in a process that was forked after the task was loaded, where TensorFlow would hang."""
    if process != os.getpid():
        raise ValueError(
            "this process was forked from the one that loaded the task, and the threads of TensorFlow and JAX are not "
            "in it: load the task in each process after the fork (gunicorn without --preload), or start processes "
            'anew: multiprocessing.get_context("spawn").'
        )


def described(task: Any) -> str:
    """Return a line about a task: its name, model, parameters, labels, and the longest text in tokens."""
    config, labels = task.config, task.parts.attributes.get("labels")
    layers = " + ".join(str(count) for count in (config.num_layers, config.num_decoder_layers) if count) or "0"
    model = f"{config.family} of {layers} layers x {config.hidden_dim}"
    facts = [repr(task.name), model, f"{task.model.count_params():,} parameters"]
    facts += [f"labels {shown(list(labels))}"] if labels else []
    return f"Task({', '.join(facts)}, max_length {task.max_length})"
