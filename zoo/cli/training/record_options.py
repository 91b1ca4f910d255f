"""Options of a command from the fields of records: each is declared once, in the record that has its value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import ParameterInfo

PANELS = ("Data", "Output", "Model", "Training")  # of --help, in their order


def options_of(kinds: Sequence[type], types: Mapping[str, Any], defaults: Mapping[str, Any]) -> Callable:
    """Return a decorator that gives a function of `**given` an option for each field of some dataclasses.

    A field's option is in its annotation, `Annotated[type, Option(...)]`, of the first dataclass that has the field.

    Args:
        kinds: The dataclasses.
        types: Types of the options whose fields have another type than the command line gives.
        defaults: Defaults of the options whose fields have none. Without one, an option has the default of its field;
            or None, where the dataclasses do not agree or its type is another.

    Example:

    >>> from zoo.scratch.run_settings import RunSettings
    >>> @options_of([RunSettings], {}, {"out": "runs/new"})
    ... def command(**given): ...
    >>> {name: inspect.signature(command).parameters[name].default for name in ("out", "model", "rounds")}
    {'out': 'runs/new', 'model': None, 'rounds': 20}
    """
    found = sorted(_parameters(kinds, types, defaults), key=_panel)

    def decorate(function: Callable) -> Callable:
        function.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
        return function

    return decorate


def _parameters(
    kinds: Sequence[type], types: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command."""
    hints: dict[str, Any] = {}
    for kind in kinds:
        hints = get_type_hints(kind, include_extras=True) | hints
    for name in dict.fromkeys(one.name for kind in kinds for one in fields(kind)):
        own, option = _split(hints[name])
        usual = {one.default for kind in kinds for one in fields(kind) if one.name == name}
        default = usual.pop() if len(usual) == 1 and name not in types else None
        default = defaults.get(name, None if default is MISSING else default)
        hint: Any = Annotated[types.get(name, own), option]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _split(hint: Any) -> tuple[Any, ParameterInfo]:
    """Return the type of a field, and its option."""
    assert get_origin(hint) is Annotated, f"{hint} has no option"
    own, option = get_args(hint)
    return own, option


def _panel(parameter: inspect.Parameter) -> int:
    panel = _split(parameter.annotation)[1].rich_help_panel
    return PANELS.index(panel) if panel in PANELS else -1
