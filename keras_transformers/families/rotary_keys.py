"""The keys of rotary positions in config.json, in the forms of both versions of `transformers`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from keras_transformers.config.rotary_scaling import LISTS, NEED_LENGTH, RotaryScaling, as_dict, make_scaling
from keras_transformers.utils.number_checks import is_finite
from keras_transformers.utils.untrusted import shown

SCALING, PARAMETERS = "rope_scaling", "rope_parameters"  # before version 5, and since
THETA, SHARE, KIND, LENGTH = "rope_theta", "partial_rotary_factor", "rope_type", "original_max_position_embeddings"
OLD_KINDS = {"su": "longrope"}
# Our fields by the keys of each kind; `mscale` and its companion make up the attention factor.
KEYS = {
    "factor": "factor", LENGTH: "original_length", "attention_factor": "attention_factor",
    "low_freq_factor": "low_frequency_factor", "high_freq_factor": "high_frequency_factor",
    "beta_fast": "beta_fast", "beta_slow": "beta_slow", "truncate": "truncate",
    "short_factor": "short_factors", "long_factor": "long_factors",
}  # fmt: skip
SCALES = ("mscale", "mscale_all_dim")
LENGTHS = (LENGTH, "attention_factor", "factor")
USED = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", LENGTH, "low_freq_factor", "high_freq_factor"),
    "yarn": (*LENGTHS, "beta_fast", "beta_slow", "truncate", *SCALES),
    "longrope": (*LENGTHS, "short_factor", "long_factor"),
}


def flat_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of rotary positions of a config.json: the older form, if it has one, replaces the newer.

    Args:
        values: Values of a config.json; a dict for each type of layers is returned as it is.

    Example:

    >>> flat_parameters({"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.0}})
    {'factor': 2.0, 'rope_type': 'linear'}
    """
    options = dict(values.get(SCALING) or values.get(PARAMETERS) or {})
    if "type" in options:
        options.setdefault(KIND, options.pop("type"))
    if values.get(LENGTH) is not None and options.get(KIND) in (*NEED_LENGTH, *OLD_KINDS):
        options[LENGTH] = values[LENGTH]  # as in `transformers`: Phi-3 has it there
    return options


def read_scaling(options: Mapping[str, Any], max_length: Any = None) -> dict[str, Any] | None:
    """Read the scale of rotary positions from their options.

    Args:
        options: The value of `rope_parameters` or `rope_scaling`, or of a type of layers in it.
        max_length: Longest text, in tokens: where the factor or the original length is missing.

    Returns:
        Values of a `RotaryScaling`, or None for no scale.

    Raises:
        ValueError: The kind is unknown, or a value is missing or wrong.

    Example:

    >>> read_scaling({"rope_type": "linear", "factor": 8.0, "rope_theta": 10_000.0})
    {'kind': 'linear', 'factor': 8.0}
    """
    given = options.get(KIND) or options.get("type") or "default"
    kind = OLD_KINDS.get(given, given) if isinstance(given, str) else given
    if not isinstance(kind, str) or kind not in USED:
        raise ValueError(f"{KIND}={shown(given)} is not supported; only {sorted([*USED, *OLD_KINDS])} are.")
    if nested := sorted(key for key, value in options.items() if isinstance(value, Mapping)):
        raise ValueError(f"rotary positions by the type of layers, {shown(nested)}, are not supported in this family.")
    if unused := sorted({*options} - {*USED[kind], KIND, "type", THETA, SHARE}, key=str):
        warnings.warn(f"rotary positions with {KIND}={kind!r} do not use {shown(unused)}: left out.", stacklevel=2)
    if kind == "default":
        return None
    found = {KEYS[key]: options[key] for key in USED[kind] if key in KEYS and options.get(key) is not None}
    if kind in NEED_LENGTH:
        found.setdefault("original_length", max_length)
        found |= _lengthened(kind, found, max_length)
    needed = ["factor", *(["low_freq_factor", "high_freq_factor"] if kind == "llama3" else [])]
    if missing := [key for key in needed if KEYS[key] not in found]:
        raise ValueError(f"{KIND}={kind!r} needs {missing}: received {shown(dict(options))}.")
    try:
        return as_dict(make_scaling({"kind": kind, **found, **_attention_factor(found, options)}))
    except ValueError as error:
        raise ValueError(f"{KIND}={kind!r} with {shown(dict(options))} is not supported: {error}") from error


def _lengthened(kind: str, found: Mapping[str, Any], max_length: Any) -> dict[str, Any]:
    """Return the factor that follows from the lengths, where none is given."""
    original = found["original_length"]
    if "factor" in found or kind == "llama3" or not (is_finite(original) and is_finite(max_length) and original > 0):
        return {}
    return {"factor": max(max_length / original, 1.0)}


def _attention_factor(found: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, float]:
    first, second = (options.get(key) for key in SCALES)
    if "attention_factor" in found or not first or not second:
        return {}
    if not (is_finite(first) and is_finite(second) and is_finite(found["factor"]) and found["factor"] >= 1):
        raise ValueError(f"{SCALES} must be numbers beside a factor of 1 or more: received {shown(dict(options))}.")
    usual = RotaryScaling("yarn", found["factor"], 1).multiplier - 1
    return {"attention_factor": (first * usual + 1) / (second * usual + 1)}


def write_scaling(scaling: Mapping[str, Any] | None, theta: float, share: float = 1.0) -> dict[str, Any]:
    """Return the options of rotary positions as version 5 of `transformers` has them: the inverse of `read_scaling`.

    Args:
        scaling: Values of a `RotaryScaling`, or None.
        theta: `max_wavelength`.
        share: `partial_rotary_factor`.

    Example:

    >>> write_scaling(None, 10_000.0)
    {'rope_theta': 10000.0, 'rope_type': 'default'}
    """
    options: dict[str, Any] = {THETA: theta, KIND: "default"}
    made = make_scaling(scaling)
    if made is not None:
        options[KIND] = made.kind
        named = {key: getattr(made, KEYS[key]) for key in USED[made.kind] if key in KEYS}
        options |= {key: list(value) if KEYS[key] in LISTS else value for key, value in named.items()
                    if value is not None}  # fmt: skip
    return options | ({} if share == 1 else {SHARE: share})


def written_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of rotary positions for readers of both versions, from values with `rope_theta`.

    Args:
        values: Values by the keys of config.json, perhaps with the values of a `RotaryScaling` at `rope_scaling`.

    Example:

    >>> written_keys({"rope_theta": 5.0, "rope_scaling": {"kind": "linear", "factor": 2.0}})["rope_scaling"]
    {'rope_type': 'linear', 'factor': 2.0}
    """
    options = write_scaling(values.get(SCALING), values[THETA], values.get(SHARE, 1.0))
    keys: dict[str, Any] = {PARAMETERS: options}
    if SCALING in values:
        older = {key: value for key, value in options.items() if key not in (THETA, SHARE)}
        keys[SCALING] = None if older[KIND] == "default" else older
    if options[KIND] == "longrope":
        keys[LENGTH] = options[LENGTH]  # where Phi-3's classes read it
    return keys
