"""Requests of generation: one value for each row, so that a row's text never depends on its neighbours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.generation.stop import MOST_BYTES, MOST_STRINGS, TOO_MUCH, StopStrings, stop_strings
from keras_transformers.utils.number_checks import is_number, is_token_id
from keras_transformers.utils.tensor_types import Tensor
from keras_transformers.utils.text_checks import check_texts


class SamplingParameter(NamedTuple):
    """A sampling parameter: its dtype, its neutral value, and the range [low, high] of its values."""

    dtype: str
    neutral: float
    low: float
    high: float


MOST = 2**31 - 1
SAMPLING_PARAMETERS = {
    "max_new_tokens": SamplingParameter("int32", 64, 1, MOST),
    "min_new_tokens": SamplingParameter("int32", 0, 0, MOST),
    "temperature": SamplingParameter("float32", 0.0, 0.0, 1e6),  # 0: the likeliest token
    "top_k": SamplingParameter("int32", 0, 0, MOST),  # 0: all
    "top_p": SamplingParameter("float32", 1.0, 1e-6, 1.0),
    "min_p": SamplingParameter("float32", 0.0, 0.0, 1.0),
    "repetition_penalty": SamplingParameter("float32", 1.0, 1e-6, 1e6),
    "no_repeat_ngram": SamplingParameter("int32", 0, 0, MOST),  # 0: off
    "seed": SamplingParameter("int32", 0, -MOST, MOST),
    "length_penalty": SamplingParameter("float32", 1.0, -10, 10),  # of beams
    "coverage_penalty": SamplingParameter("float32", 0.0, 0.0, 1e6),  # of beams beside an encoder
    "early_stopping": SamplingParameter("int32", 0, 0, 1),  # of beams; a yes or no
}
OF_SAMPLES = ("temperature", "top_k", "top_p", "min_p", "seed")
OF_BEAMS = ("length_penalty", "coverage_penalty", "early_stopping")
ANY_TEXT = np.zeros((0, 1), np.int32)  # no choices
OF_SOURCES = ("coverage_penalty",)
OF_CALLS = (
    "num_beams",
    "num_sequences",
    "prompt_lookup",
    "draft",
    "draft_tokens",
    "choices",
    "json_schema",
    "pattern",
    "stop",
    "token_bias",
    "prefix",
)  # options that are no parameter of a row


class Request(NamedTuple):
    """A request: sampling parameters, neutral where a method does not have one, stop strings and biases of each row."""

    max_new_tokens: Tensor  # int32 (B,)
    min_new_tokens: Tensor  # int32 (B,)
    temperature: Tensor  # float32 (B,)
    top_k: Tensor  # int32 (B,)
    top_p: Tensor  # float32 (B,)
    min_p: Tensor  # float32 (B,)
    repetition_penalty: Tensor  # float32 (B,)
    no_repeat_ngram: Tensor  # int32 (B,)
    seed: Tensor  # int32 (B,)
    length_penalty: Tensor  # float32 (B,)
    coverage_penalty: Tensor  # float32 (B,)
    early_stopping: Tensor  # int32 (B,)
    stop: StopStrings  # int32 (B, n, M) and (B, n)
    bias_ids: Tensor  # int32 (B, m), token ids, -1 for none
    bias_values: Tensor  # float32 (B, m), added to the logits of these tokens
    choices: Tensor  # int32 (B, n, L), token ids of the n texts that may be written, -1 behind each; n = 0 for any text
    allowed: Tensor  # boolean (B, V), the tokens that may come next; (B, 0) for all
    sequence: Tensor  # int32 (B,), which of the texts, or beams, for one prompt the row is

    def rows(self, index: Tensor) -> Request:
        """Return the request of some rows, in NumPy.

        Args:
            index: int (n,), or a slice.
        """
        return keras.tree.map_structure(lambda column: column[index], self)

    def repeated(self, number: Tensor | int) -> Request:
        """Return the request of `number` rows for each row; rows of the first prompt come first.

        Args:
            number: int, or an int32 scalar tensor.
        """
        prompts = ops.shape(self.sequence)[0]
        order = ops.repeat(ops.arange(prompts, dtype="int32"), number)  # (B * n,)
        repeated = keras.tree.map_structure(lambda column: ops.take(column, order, axis=0), self)
        sequence = ops.mod(ops.arange(ops.shape(order)[0], dtype="int32"), number)  # (B * n,)
        return repeated._replace(sequence=sequence)


def sampling_parameters_of(num_beams: int, has_source: bool = False) -> dict[str, SamplingParameter]:
    """Return the sampling parameters that a method has.

    Args:
        num_beams: More than one for beam search.
        has_source: Whether the model has an encoder: `OF_SOURCES` are among them then.
    """
    others = (OF_SAMPLES if num_beams > 1 else OF_BEAMS) + (() if has_source else OF_SOURCES)
    return {name: parameter for name, parameter in SAMPLING_PARAMETERS.items() if name not in others}


def make_sampling_parameters(
    rows: int, values: dict[str, Any], num_beams: int = 1, has_source: bool = False
) -> dict[str, np.ndarray]:
    """Return all sampling parameters as arrays (rows,); those that are not in `values` are neutral.

    Args:
        rows: Number of rows, B.
        values: Numbers by the name of the parameter, or one number per row; only parameters that the method has.
        num_beams: Beams, 1 for samples.
        has_source: Whether the model has an encoder.

    Raises:
        ValueError: A name is unknown, a value is out of range, or there are more or fewer values than rows.

    Example:

    >>> make_sampling_parameters(2, {"temperature": 0.7, "top_k": [5, 0]})["temperature"].tolist()
    [0.699999988079071, 0.699999988079071]
    """
    parameters = sampling_parameters_of(num_beams, has_source)
    if unknown := sorted(set(values) - set(parameters)):
        method_of = dict.fromkeys(OF_SAMPLES, "samples, num_beams=1")
        method_of |= dict.fromkeys(OF_BEAMS, "beams, num_beams=2 or more")
        method_of |= {} if has_source else dict.fromkeys(OF_SOURCES, "models with an encoder")
        method_of |= dict.fromkeys(OF_CALLS, "generate, and not for this call")
        known = [*parameters, *OF_CALLS]
        near = {name: difflib.get_close_matches(name, known, n=1) for name in unknown if name not in method_of}
        hints = [f" {name} is for {method_of[name]}." for name in unknown if name in method_of]
        hints += [f" The name nearest to {name} is {names[0]}." for name, names in near.items() if names]
        raise ValueError(f"unknown options {unknown}; with num_beams={num_beams} there are {known}.{''.join(hints)}")
    return {
        name: _column(name, parameter, values.get(name, parameter.neutral), rows)
        for name, parameter in SAMPLING_PARAMETERS.items()
    }


def make_request(
    rows: int, stop: Sequence[str], token_bias: Mapping[int, float], values: dict[str, Any], num_beams: int = 1,
    has_source: bool = False, choices: np.ndarray = ANY_TEXT,
) -> Request:  # fmt: skip
    """Return a request of so many rows, as arrays.

    Args:
        rows: Number of rows, B.
        stop: Strings before which a text ends.
        token_bias: Numbers added to the logits of tokens, by id; minus infinity suppresses one.
        values, num_beams, has_source: As for `make_sampling_parameters`.
        choices: int32 (n, L), as in `Request`.

    Raises:
        ValueError: As `make_sampling_parameters`; or a stop string is empty, too long or none, or there are too many.

    Example:

    >>> request = make_request(2, ["."], {}, {"seed": 1})
    >>> request.seed.tolist(), request.stop.strings.tolist(), request.bias_ids.shape
    ([1, 1], [[[46]], [[46]]], (2, 0))
    """
    stop = list(stop) if isinstance(stop, Iterable) and not isinstance(stop, str) else stop
    if not isinstance(stop, list) or not all(isinstance(string, str) and string for string in stop):
        raise ValueError(f"stop must be a list of str that are not empty: received {stop!r}.")
    strings = [string.encode("utf-8") for string in check_texts("stop", stop, is_ordered=False)]
    if len(strings) > MOST_STRINGS or max(map(len, strings), default=0) > MOST_BYTES:
        raise ValueError(f"{TOO_MUCH} Received {len(strings)}, the longest of {max(map(len, strings)):,} bytes.")
    bias_ids, bias_values = np.array(list(token_bias), np.int32), np.array(list(token_bias.values()), np.float32)
    return Request(
        **make_sampling_parameters(rows, values, num_beams, has_source),
        stop=stop_strings(rows, strings),
        bias_ids=np.broadcast_to(bias_ids, (rows, bias_ids.size)),
        bias_values=np.broadcast_to(bias_values, (rows, bias_values.size)),
        choices=np.broadcast_to(choices, (rows, *choices.shape)),
        allowed=np.ones((rows, 0), bool),
        sequence=np.zeros(rows, np.int32),
    )


def check_bias(token_bias: Mapping[int, float] | None, vocabulary_size: int) -> Mapping[int, float]:
    """Return the biases of logits by token id.

    Raises:
        ValueError: A key is no token id, or a value is no number that float32 holds.
    """
    token_bias = {} if token_bias is None else token_bias
    if not isinstance(token_bias, Mapping):
        raise ValueError(f"token_bias is a dict of token ids to numbers: received {token_bias!r}.")
    wrong = {
        token: bias for token, bias in token_bias.items() if not (is_token_id(token, vocabulary_size) and is_bias(bias))
    }
    if wrong:
        raise ValueError(
            f"token_bias takes numbers, or minus infinity, for token ids below {vocabulary_size}: received {wrong}."
        )
    return token_bias


def is_bias(value: Any) -> bool:
    """Return whether a value can be added to a logit: a number that float32 holds, or minus infinity."""
    return is_number(value) and (value == float("-inf") or abs(value) <= float(np.finfo(np.float32).max))


def _column(name: str, parameter: SamplingParameter, value: Any, rows: int) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unlike lengths
        array = np.array(None)
    if array.dtype.kind == "b" and parameter.high == 1:
        array = array.astype(parameter.dtype)
    if array.dtype.kind not in "iuf" or (parameter.dtype == "int32" and array.dtype.kind == "f"):
        raise ValueError(f"{name} is a number of type {parameter.dtype}, or one per text: received {value!r}.")
    if array.shape not in ((), (rows,)):
        raise ValueError(f"{name} is one number or one per text ({rows}): received the shape {array.shape}.")
    if not ((array >= parameter.low) & (array <= parameter.high)).all():
        raise ValueError(f"{name} {range_of(parameter)}: received {value!r}.")
    return np.broadcast_to(array.astype(parameter.dtype), (rows,))


def range_of(parameter: SamplingParameter) -> str:
    """Return the range of a parameter as the end of an error message."""
    return f"must be in [{parameter.low:g}, {parameter.high:g}]"


def out_of_range(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return which rows have a parameter out of its range, by name a boolean (B,); NaN is out of every range.

    Args:
        parameters: Parameters among `SAMPLING_PARAMETERS`, each (B,).
    """
    failed = {}
    for name, value in parameters.items():
        parameter = SAMPLING_PARAMETERS[name]
        low, high = (ops.cast(bound, parameter.dtype) for bound in (parameter.low, parameter.high))
        failed[name] = ops.logical_not(ops.logical_and(value >= low, value <= high))
    return failed
