"""Rotary positions on another scale, for texts longer than a model was trained with."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.utils.number_checks import is_finite, is_size
from keras_transformers.utils.untrusted import shown

KINDS = ("linear", "llama3", "yarn", "longrope")
NEED_LENGTH = KINDS[1:]
LISTS = ("short_factors", "long_factors")


@dataclasses.dataclass(frozen=True)
class RotaryScaling:
    """Scale of rotary positions: plain values, checked once.

    Papers: linear, Chen et al. 2023, https://arxiv.org/abs/2306.15595; llama3, Grattafiori et al. 2024,
    https://arxiv.org/abs/2407.21783; yarn, Peng et al. 2023, https://arxiv.org/abs/2309.00071; longrope, Ding et al.
    2024, https://arxiv.org/abs/2402.13753.

    Args:
        kind: `"linear"`, which divides all frequencies by the factor; `"llama3"` and `"yarn"`, which divide low ones
            and keep high ones; or `"longrope"`, which has a divisor for each frequency, others for long texts.
        factor: Length of texts divided by `original_length`, at least 1.
        original_length: Length in tokens of the texts of the first training; needed by all kinds but `"linear"`.
        attention_factor: Factor of cosines and sines; when None, that of the papers of `"yarn"` and `"longrope"`, and 1
            for other kinds.
        low_frequency_factor, high_frequency_factor: Turns within `original_length` up to which `"llama3"` divides a
            frequency, and from which it keeps one.
        beta_fast, beta_slow: The same of `"yarn"`: turns from which it keeps a frequency, and up to which it divides
            one.
        truncate: Whether `"yarn"` rounds the numbers of the frequencies that these turns belong to.
        short_factors, long_factors: Divisors of `"longrope"`, half the rotated width of a head each; the second are
            the ones for texts longer than `original_length`.

    Raises:
        ValueError: A value is missing or not one of these.

    Example:

    >>> RotaryScaling("llama3", factor=8, original_length=8192).multiplier
    1.0
    """

    kind: str
    factor: float = 1.0
    original_length: int | None = None
    attention_factor: float | None = None
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"the kind of a rotary scaling must be one of {KINDS}: received {shown(self.kind)}.")
        self._check_numbers()
        if self.kind in NEED_LENGTH and not is_size(self.original_length):
            raise ValueError(
                f"original_length of {self.kind!r} must be a positive integer, the length of texts in the first "
                f"training: received {shown(self.original_length)}."
            )
        if not isinstance(self.truncate, bool):
            raise ValueError(f"truncate must be True or False: received {shown(self.truncate)}.")
        if self.kind == "llama3" and self.low_frequency_factor >= self.high_frequency_factor:
            raise ValueError(
                "low_frequency_factor must be less than high_frequency_factor: received "
                f"{self.low_frequency_factor} and {self.high_frequency_factor}."
            )
        for name in LISTS:
            object.__setattr__(self, name, self._checked_list(name))

    def _check_numbers(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type not in ("float", "float | None") or (value is None and field.default is None):
                continue
            if not is_finite(value) or value <= 0 or (field.name == "factor" and value < 1):
                least = "a number of 1 or more" if field.name == "factor" else "a positive number"
                raise ValueError(f"{field.name} of a rotary scaling must be {least}: received {shown(value)}.")
            object.__setattr__(self, field.name, float(value))
        if self.original_length is not None and is_size(self.original_length):
            object.__setattr__(self, "original_length", int(self.original_length))

    def _checked_list(self, name: str) -> tuple[float, ...]:
        values = getattr(self, name)
        is_list = isinstance(values, Sequence) and not isinstance(values, str)
        if not is_list or not all(is_finite(value) and value > 0 for value in values):
            raise ValueError(
                f"{name} of a rotary scaling must be a list of positive numbers: received {shown(values)}."
            )
        if bool(values) != (self.kind == "longrope"):
            raise ValueError(f"{name} belong to kind='longrope', which needs them: received {shown(values)} with kind="
                             f"{self.kind!r}.")  # fmt: skip
        return tuple(map(float, values))

    @property
    def multiplier(self) -> float:
        """Factor of cosines and sines."""
        if self.attention_factor is not None or self.factor <= 1:
            return 1.0 if self.attention_factor is None else self.attention_factor
        if self.kind == "yarn":
            return 0.1 * math.log(self.factor) + 1
        if self.kind == "longrope":
            return math.sqrt(1 + math.log(self.factor) / math.log(self.original_length or 1))
        return 1.0

    @property
    def by_length(self) -> bool:
        """Return whether the scale depends on the length of a text."""
        return self.kind == "longrope"


def rotary_width(head_dim: int, share: float) -> int:
    """Return the width of the part of a head that is rotated.

    Args:
        head_dim: Width of a head.
        share: `partial_rotary_factor`.

    Example:

    >>> rotary_width(128, 0.75)
    96
    """
    return int(head_dim * share)


def make_scaling(value: Any) -> RotaryScaling | None:
    """Convert a dict of the values of a `RotaryScaling`; a `RotaryScaling` and None are returned.

    Raises:
        ValueError: `value` is none of these, or has unknown keys.

    Example:

    >>> make_scaling({"kind": "linear", "factor": 8.0}).factor
    8.0
    """
    if value is None or isinstance(value, RotaryScaling):
        return value
    known = [field.name for field in dataclasses.fields(RotaryScaling)]
    if not isinstance(value, Mapping) or "kind" not in value:
        raise ValueError(f"rotary_scaling must be None, or a dict with 'kind' and others of {known}: received "
                         f"{shown(value)}.")  # fmt: skip
    if unknown := sorted(set(value) - set(known), key=str):
        raise ValueError(f"unknown keys of rotary_scaling {shown(unknown)}; the known ones are {known}.")
    return RotaryScaling(**value)


def as_dict(scaling: RotaryScaling | None) -> dict[str, Any] | None:
    """Return the values of a scaling that are not the defaults; None for None.

    Example:

    >>> as_dict(RotaryScaling("linear", factor=8))
    {'kind': 'linear', 'factor': 8.0}
    """
    if scaling is None:
        return None
    values = {field.name: (getattr(scaling, field.name), field.default) for field in dataclasses.fields(scaling)}
    return {name: value for name, (value, default) in values.items() if value != default}


def check_scaling(scaling: RotaryScaling | None, rotary_dim: int) -> None:
    """Check that a scaling fits the width of a head that is rotated.

    Args:
        scaling: A `RotaryScaling`, or None.
        rotary_dim: Width of the part of a head that is rotated.

    Raises:
        ValueError: It has another number of divisors than there are frequencies.

    Example:

    >>> check_scaling(RotaryScaling("linear", factor=2), 8)
    """
    for name in LISTS if scaling is not None and scaling.by_length else ():
        if len(getattr(scaling, name)) != rotary_dim // 2:
            raise ValueError(
                f"{name} of rotary_scaling must be {rotary_dim // 2} numbers, half of the {rotary_dim} units of a head "
                f"that are rotated: received {len(getattr(scaling, name))}."
            )
