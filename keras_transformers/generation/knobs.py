"""What a caller can turn: one number a row each, so that a row's text never depends on its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformers.generation.stop import MOST_BYTES, MOST_STRINGS, TOO_MUCH
from keras_transformers.text.checks import check_texts


class Knob(NamedTuple):
    """A knob: its dtype, its neutral value, and the range [low, high] of its values."""

    dtype: str
    neutral: float
    low: float
    high: float


MOST = 2**31 - 1
KNOBS = {
    "max_new_tokens": Knob("int32", 64, 1, MOST),
    "min_new_tokens": Knob("int32", 0, 0, MOST),
    "temperature": Knob("float32", 0.0, 0.0, 1e6),  # 0: the likeliest token
    "top_k": Knob("int32", 0, 0, MOST),  # 0: all
    "top_p": Knob("float32", 1.0, 1e-6, 1.0),
    "min_p": Knob("float32", 0.0, 0.0, 1.0),
    "repetition_penalty": Knob("float32", 1.0, 1e-6, 1e6),
    "no_repeat_ngram": Knob("int32", 0, 0, MOST),  # 0: off
    "seed": Knob("int32", 0, -MOST, MOST),
    "length_penalty": Knob("float32", 1.0, -10, 10),  # of beams
    "coverage_penalty": Knob("float32", 0.0, 0.0, 1e6),  # of beams beside an encoder
    "early_stopping": Knob("int32", 0, 0, 1),  # of beams; a yes or no
}
OF_SAMPLES = ("temperature", "top_k", "top_p", "min_p", "seed")
OF_BEAMS = ("length_penalty", "coverage_penalty", "early_stopping")
OF_SOURCES = ("coverage_penalty",)


def knobs_of(num_beams: int, has_source: bool = False) -> dict[str, Knob]:
    """The knobs of beam search, or with one beam those of samples; `has_source`: with those beside an encoder."""
    others = (OF_SAMPLES if num_beams > 1 else OF_BEAMS) + (() if has_source else OF_SOURCES)
    return {name: knob for name, knob in KNOBS.items() if name not in others}


def make_knobs(
    rows: int, values: dict[str, Any], num_beams: int = 1, has_source: bool = False
) -> dict[str, np.ndarray]:
    """All knobs of a method as arrays (rows,); those that are not in `values` are neutral.

    Args:
        rows: Their number, B.
        values: By name, a number or one number a row.
        num_beams: Beams, 1 for samples.
        has_source: Whether the model has an encoder besides.

    Raises:
        ValueError: A name is unknown, a value is out of range, or there are more or fewer values than rows.

    Example:

    >>> make_knobs(2, {"temperature": 0.7, "top_k": [5, 0]})["temperature"].tolist()
    [0.699999988079071, 0.699999988079071]
    """
    knobs = knobs_of(num_beams, has_source)
    if unknown := sorted(set(values) - set(knobs)):
        of = dict.fromkeys(OF_SAMPLES, "samples, num_beams=1") | dict.fromkeys(OF_BEAMS, "beams, num_beams=2 or more")
        of |= {} if has_source else dict.fromkeys(OF_SOURCES, "models with an encoder")
        hints = "".join(f" {name} is for {of[name]}." for name in unknown if name in of)
        raise ValueError(f"unknown options {unknown}; with num_beams={num_beams} there are {list(knobs)}.{hints}")
    return {name: _column(name, knob, values.get(name, knob.neutral), rows) for name, knob in knobs.items()}


def make_request(
    rows: int, stop: Sequence[str], token_bias: Mapping[int, float], values: dict[str, Any], num_beams: int = 1,
    has_source: bool = False,
) -> dict[str, np.ndarray]:  # fmt: skip
    """All that decides how texts are generated, as arrays of so many rows.

    Args:
        rows: Their number, B.
        stop: Strings before which a text ends.
        token_bias: Numbers added to the logits of tokens, by id; minus infinity suppresses one.
        values, num_beams, has_source: As for `make_knobs`.

    Returns:
        The knobs, each (B,), `stop` (B, n) of bytes, `bias_ids` int32 and `bias_values` float32, both (B, m).

    Raises:
        ValueError: As `make_knobs`; or a stop string is empty, too long or none, or there are too many.

    Example:

    >>> request = make_request(2, ["."], {}, {"seed": 1})
    >>> request["stop"].tolist(), request["bias_ids"].shape
    ([[b'.'], [b'.']], (2, 0))
    """
    stop = stop if isinstance(stop, str) else list(stop)
    if isinstance(stop, str) or not all(isinstance(string, str) and string for string in stop):
        raise ValueError(f"stop must be a list of str that are not empty: received {stop!r}.")
    stop = [string.encode("utf-8") for string in check_texts("stop", stop)]
    if len(stop) > MOST_STRINGS or max(map(len, stop), default=0) > MOST_BYTES:
        raise ValueError(f"{TOO_MUCH} Received {len(stop)}, the longest of {max(map(len, stop)):,} bytes.")
    columns = {
        "stop": np.array(stop, object),
        "bias_ids": np.array(list(token_bias), np.int32),
        "bias_values": np.array(list(token_bias.values()), np.float32),
    }
    knobs = make_knobs(rows, values, num_beams, has_source)
    return knobs | {name: np.tile(column, (rows, 1)) for name, column in columns.items()}


def _column(name: str, knob: Knob, value: Any, rows: int) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind == "b" and knob.high == 1:
        array = array.astype(knob.dtype)
    if array.dtype.kind not in "iuf" or (knob.dtype == "int32" and array.dtype.kind == "f"):
        raise ValueError(f"{name} is a number of type {knob.dtype}, or one a text: received {value!r}.")
    if array.shape not in ((), (rows,)):
        raise ValueError(f"{name} is one number or one a text ({rows}): received {array.size}.")
    if not ((array >= knob.low) & (array <= knob.high)).all():
        raise ValueError(f"{name} must be in [{knob.low:g}, {knob.high:g}]: received {value!r}.")
    return np.broadcast_to(array.astype(knob.dtype), (rows,))


def out_of_range(knobs: dict[str, Any]) -> Any:
    """Which knob of each row is out of its range: int32 (B,), its number in `KNOBS`, or -1."""
    wrong = -ops.ones_like(knobs["max_new_tokens"])
    for name, value in reversed(knobs.items()):
        number, knob = list(KNOBS).index(name), KNOBS[name]
        fits = ops.logical_and(value >= ops.cast(knob.low, knob.dtype), value <= ops.cast(knob.high, knob.dtype))
        wrong = ops.where(fits, wrong, number)
    return wrong
