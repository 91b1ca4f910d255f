"""Checks of the options that say how a vector is made, and at which widths it is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.checkpoints.settings.sentence_transformers import ACTIVATIONS
from keras_transformers.heads.text_vectors import POOLINGS
from keras_transformers.utils.number_checks import is_finite, is_size
from keras_transformers.utils.untrusted import shown

MOST_DENSE = 7  # the folder of the last one, and of what follows, has one digit
DENSE_LAYERS = tuple(f"vector_dense_{number}" for number in range(MOST_DENSE))


def check_pooling(pooling: Any) -> list[str]:
    """Return the ways of pooling as a list; raise a `ValueError` for an unknown one, or one that is named twice."""
    ways = [pooling] if isinstance(pooling, str) else pooling
    is_list = isinstance(ways, (list, tuple)) and ways and all(isinstance(way, str) for way in ways)
    if not is_list or not {*ways} <= {*POOLINGS} or len({*ways}) < len(ways):
        raise ValueError(
            f"pooling must be one of {sorted(POOLINGS)}, or a list of several, side by side: received {shown(pooling)}."
        )
    return [*ways]


def check_dense(dense: Any) -> list[dict[str, Any]]:
    """Return the options of dense layers behind the pooling, with all keys; raise a `ValueError` for others."""
    expected = (
        f'dense must be a list of at most {MOST_DENSE} layers, such as [{{"units": 256, "activation": "tanh", '
        '"use_bias": True}]'
    )
    if not isinstance(dense, (list, tuple)) or len(dense) > MOST_DENSE:
        raise ValueError(f"{expected}: received {shown(dense)}.")
    defaults = {"activation": "linear", "use_bias": True}
    for options in dense:
        is_known = isinstance(options, Mapping) and {"units"} <= options.keys() <= {"units", *defaults}
        if not is_known or not is_size(options["units"]) or not isinstance(options.get("use_bias", True), bool):
            raise ValueError(f"{expected}: received {shown(options)}.")
        if options.get("activation", "linear") not in [*ACTIVATIONS]:
            raise ValueError(f"the activation of a dense layer is one of {[*ACTIVATIONS]}: received {shown(options)}.")
    return [{**defaults, **options, "units": int(options["units"])} for options in dense]


def check_truncation(truncate_dim: Any, dim: int) -> int | None:
    """Return a number of kept numbers of a vector, or None; raise a `ValueError` for more than it has."""
    if truncate_dim is None:
        return None
    if not is_size(truncate_dim) or truncate_dim > dim:
        raise ValueError(
            f"truncate_dim must be in [1, {dim}], the numbers of a vector: received {shown(truncate_dim)}."
        )
    return int(truncate_dim)


def check_widths(widths: Any, dim: int) -> dict[int, float]:
    """Return the weight of each width at which vectors are learned; raise a `ValueError` for others than they have."""
    expected = (
        f"matryoshka must be a list of different widths in [1, {dim}], such as {[dim, -(-dim // 2)]}, or a dict from "
        "widths to weights above 0"
    )
    is_list = isinstance(widths, (Mapping, Sequence)) and not isinstance(widths, str)
    if not is_list or not all(map(is_size, widths)) or len({*map(int, widths)}) < len(widths):
        raise ValueError(f"{expected}: received {shown(widths)}.")
    weights = dict(widths) if isinstance(widths, Mapping) else dict.fromkeys(widths, 1.0)
    has_weights = all(is_finite(weight) and weight > 0 for weight in weights.values())
    if not weights or not has_weights or not all(width <= dim for width in weights):
        raise ValueError(f"{expected}: received {shown(widths)}.")
    return {int(width): float(weight) for width, weight in weights.items()}
