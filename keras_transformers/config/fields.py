"""Rules of a configuration's fields, which each field carries in its annotation: its values, its models, its layers."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from keras_transformers.config.limits import MOST, MOST_BLOCKS
from keras_transformers.utils.number_checks import (
    is_count,
    is_finite,
    is_number,
    is_numpy_scalar,
    is_size,
    is_token_id,
)
from keras_transformers.utils.untrusted import shown


class Rule(NamedTuple):
    """The values that a field may have. None is allowed where the type of the field has it.

    Args:
        expected: Expected value, in the words of the error; `{vocabulary_size}` is filled in.
        accepts: Function from a value and the configuration to whether the field may have it.
        convert: Function from a value to a plain Python value, as Keras cannot write NumPy's scalars into a layer's
            config.
        most: Largest number.
    """

    expected: str
    accepts: Callable[[Any, Any], bool]
    convert: Callable[[Any], Any] | None = None
    most: int | None = None


class Needs(NamedTuple):
    """The models that may set a field: each part that is not empty must hold.

    Args:
        kinds: Values of `kind`.
        mixers: Values of `mixer`.
        positions: One of the kinds of positions.
    """

    kinds: tuple[str, ...] = ()
    mixers: tuple[str, ...] = ()
    positions: str | None = None

    def missing(self, config: Any) -> list[str]:
        """Return what a configuration lacks, as in `["kind='encoder'"]`."""
        found = []
        if self.kinds and config.kind not in self.kinds:
            found.append(" or ".join(f"kind={kind!r}" for kind in self.kinds))
        if self.mixers and config.mixer not in self.mixers:
            found.append(" or ".join(f"mixer={mixer!r}" for mixer in self.mixers))
        if self.positions is not None and self.positions not in config.position_kinds:
            found.append(f"positions={self.positions!r}")
        return found


class BlockArgument(NamedTuple):
    """The blocks whose constructors take a field, and its name there; the name of the field when None.

    Args:
        blocks: Kinds of blocks: `"attention"`, `"mixer"` (recurrent and convolutional blocks), `"mixer_decoder"`
            (such blocks with a cross-attention), `"state"` (`StateDecoderBlock`) and the names of its mixers.
        name: Name of the argument.
    """

    blocks: tuple[str, ...] = ("attention",)
    name: str | None = None


class Field(NamedTuple):
    """A field with its rules."""

    name: str
    default: Any
    is_optional: bool
    rule: Rule | None
    needs: Needs | None
    arguments: tuple[BlockArgument, ...]


def _by_value(accepts: Callable[[Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda value, config: accepts(value)


def _number(expected: str, accepts: Callable[[Any], bool], convert: Any = None, most: int | None = None) -> Rule:
    return Rule(expected, _by_value(accepts), convert, most)


SIZE = _number("a positive integer", is_size, int, MOST)
NUM_BLOCKS = Rule(
    "a positive integer",
    lambda value, config: is_size(value) or (is_count(value) and config.mixer == "none"),
    int,
    MOST_BLOCKS,
)
COUNT = _number("an integer >= 0", is_count, int, MOST)
SHARE = _number("a share in (0, 1]", lambda value: is_number(value) and 0 < value <= 1, float)
RATE = _number("a rate in [0, 1)", lambda value: is_number(value) and 0 <= value < 1, float)
FINITE = _number("a finite number", is_finite)
AT_LEAST_ZERO = _number("a number of 0 or more", lambda value: is_finite(value) and value >= 0)
POSITIVE = _number("a positive number", lambda value: is_finite(value) and value >= 1e-9)
INITIALIZER_RANGE = _number(
    'a number of 0 or more, or "fan_in"', lambda value: value == "fan_in" or (is_finite(value) and value >= 0)
)
SWITCH = _number("True or False", lambda value: isinstance(value, bool))
TEXT = _number("a str", lambda value: isinstance(value, str))
TOKEN_ID = Rule(
    "a token id in [0, {vocabulary_size})", lambda value, config: is_token_id(value, config.vocabulary_size)
)
TOKEN_IDS = Rule(
    TOKEN_ID.expected,
    lambda ids, config: all(is_token_id(number, config.vocabulary_size) for number in ids),
    lambda ids: tuple(map(int, ids)),
)


def one_of(*choices: str) -> Rule:
    """Return the rule of a field that has one of some values.

    Example:

    >>> one_of("pre", "post").expected
    "one of ('pre', 'post')"
    """
    return Rule(f"one of {choices}", lambda value, config: value in choices)


@cache
def fields_of(record: Any) -> tuple[Field, ...]:
    """Return the fields of a dataclass with their rules.

    Args:
        record: A dataclass whose annotations may be `Annotated[type, rules]`.

    Example:

    >>> from keras_transformers.config import TransformerConfig
    >>> next(field.rule.expected for field in fields_of(TransformerConfig) if field.name == "num_heads")
    'a positive integer'
    """
    hints = typing.get_type_hints(record, include_extras=True)
    return tuple(_field(field, hints[field.name]) for field in dataclasses.fields(record))


def _fields(config: Any) -> tuple[Field, ...]:
    record: Any = type(config)
    return fields_of(record)


def _field(field: dataclasses.Field, hint: Any) -> Field:
    rules: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    plain = hint.__origin__ if rules else hint
    return Field(
        field.name,
        None if field.default is dataclasses.MISSING else field.default,
        type(None) in typing.get_args(plain),
        next((rule for rule in rules if isinstance(rule, Rule)), None),
        next((rule for rule in rules if isinstance(rule, Needs)), None),
        tuple(rule for rule in rules if isinstance(rule, BlockArgument)),
    )


def check_fields(config: Any) -> None:
    """Check each field of a configuration by its rule, and convert it to plain Python values.

    Args:
        config: A `TransformerConfig` that is being made.

    Raises:
        ValueError: A value is none that its field may have.
    """
    for field in _fields(config):
        value = getattr(config, field.name)
        if is_numpy_scalar(value):
            value = value.item()
            object.__setattr__(config, field.name, value)
        if field.rule is None or (value is None and field.is_optional):
            continue
        if not field.rule.accepts(value, config):
            expected = field.rule.expected.format(vocabulary_size=config.vocabulary_size)
            raise ValueError(f"{field.name} must be {expected}: received {shown(value)}.")
        if field.rule.most is not None and value > field.rule.most:
            raise ValueError(f"{field.name} must be at most {field.rule.most}: received {shown(value)}.")
        if field.rule.convert is not None:
            object.__setattr__(config, field.name, field.rule.convert(value))


def check_needs(config: Any) -> None:
    """Check that each field which only some models have is set only in those.

    Args:
        config: A `TransformerConfig` whose fields have been checked.

    Raises:
        ValueError: A field belongs to another kind of model.
    """
    for field in _fields(config):
        value = getattr(config, field.name)
        if field.needs is not None and value != field.default and (missing := field.needs.missing(config)):
            raise ValueError(
                f"{field.name} needs {' and '.join(missing)}: received {field.name}={shown(value)} with kind="
                f"{config.kind!r}, mixer={config.mixer!r}, positions={config.positions!r}. Leave it out."
            )


def block_arguments(config: Any, blocks: str) -> dict[str, Any]:
    """Return the arguments of the blocks of a model.

    Args:
        config: A `TransformerConfig`.
        blocks: As in `BlockArgument`.

    Example:

    >>> from keras_transformers.families import bert
    >>> block_arguments(bert(100, num_layers=2, num_heads=2, hidden_dim=16), "attention")["num_heads"]
    2
    """
    return {name: getattr(config, field) for field, name in _argument_names(config, blocks)}


def _argument_names(config: Any, blocks: str) -> Iterator[tuple[str, str]]:
    for field in _fields(config):
        for argument in field.arguments:
            if blocks in argument.blocks:
                yield field.name, argument.name or field.name
