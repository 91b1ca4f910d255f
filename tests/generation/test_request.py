from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import to_numpy

from keras_transformers.generation.request import (
    SAMPLING_PARAMETERS,
    check_bias,
    make_request,
    make_sampling_parameters,
    out_of_range,
)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"temprature": 1.0}, r"temprature.*there are \['max_new_tokens'.*'temperature'"),
        ({"length_penalty": 1.0}, "num_beams=1"),
        ({"max_new_tokens": 0}, r"max_new_tokens must be in \[1, .*received 0"),
        ({"top_k": 2.5}, "type int32.*received 2.5"),
        ({"top_p": [0.5, 0.0]}, r"top_p must be in \[1e-06, 1\]"),
        ({"seed": [1, 2, 3]}, r"one per text \(2\): received the shape \(3,\)"),
        ({"temperature": [[0.5], [0.5]]}, r"one per text \(2\): received the shape \(2, 1\)"),
        ({"temperature": [1, [2]]}, r"type float32, or one per text: received \[1, \[2\]\]"),
        ({"temperature": "hot"}, "type float32.*hot"),
        ({"temperature": float("nan")}, "temperature must be in"),
    ],
)
def test_what_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        make_sampling_parameters(2, values)


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "seed"])
def test_beams_are_not_sampled(name):
    with pytest.raises(ValueError, match=f"unknown options.*{name}.*num_beams=4.*length_penalty"):
        make_sampling_parameters(2, {name: 1}, num_beams=4)


@pytest.mark.parametrize("has_source", [False, True])
def test_an_unknown_option_lists_all_options(has_source):
    with pytest.raises(ValueError, match="unknown options") as refused:
        make_request(1, [], {}, {"stopp": ["."], "temprature": 1.0, "num_sequences": 2}, has_source=has_source)
    message = str(refused.value)
    for name in ("temperature", "stop", "token_bias", "prompt_lookup", "num_sequences", "num_beams"):
        assert f"'{name}'" in message
    assert "nearest to stopp is stop." in message and "nearest to temprature is temperature." in message
    assert "num_sequences is for generate" in message


def test_stop_strings_are_a_list():
    for stop in ("end", ["a", ""], [b"a"], None, 5):
        with pytest.raises(ValueError, match="stop must be a list of str"):
            make_request(1, stop, {}, {})
    assert make_request(1, (string for string in "ab"), {}, {}).stop.strings.tolist() == [[[97], [98]]]


def test_a_stop_string_with_a_lone_surrogate_is_named():
    with pytest.raises(ValueError, match=r"`stop`: the text at row 1 has the lone surrogate '\\ud83d' at character 0"):
        make_request(1, ["a", "\ud83d"], {}, {})


@pytest.mark.parametrize(("stop", "message"), [(["a"] * 65, "Received 65, "), (["ä" * 513], "of 1,026 bytes")])
def test_stop_strings_are_few_and_short(stop, message):
    """They are looked for at every step."""
    with pytest.raises(ValueError, match=f"stop takes at most 64 strings of at most 1,024 bytes.*{message}"):
        make_request(1, stop, {}, {})
    assert make_request(1, ["ä" * 512] * 64, {}, {}).stop.strings.shape == (1, 64, 1024)


def test_a_request_has_a_row_for_each_text():
    request = make_request(3, ["ä", "b"], {5: 1.5}, {"seed": [1, 2, 3], "top_k": 4})
    assert all(len(column) == 3 for column in keras.tree.flatten(request))
    assert request.stop.strings.tolist() == [[[*"ä".encode()], [0, ord("b")]]] * 3
    assert request.stop.lengths.tolist() == [[2, 1]] * 3
    assert (request.seed.tolist(), request.top_k.tolist()) == ([1, 2, 3], [4, 4, 4])
    assert (request.bias_ids.tolist(), request.bias_values.tolist()) == ([[5]] * 3, [[1.5]] * 3)
    assert {name: getattr(request, name).dtype.name for name in SAMPLING_PARAMETERS} == {
        n: knob.dtype for n, knob in SAMPLING_PARAMETERS.items()
    }


def test_a_request_repeats_its_rows():
    request = make_request(2, ["a"], {}, {"seed": [3, 4]}).repeated(3)
    assert to_numpy(request.seed).tolist() == [3, 3, 3, 4, 4, 4]
    assert to_numpy(request.sequence).tolist() == [0, 1, 2, 0, 1, 2]
    assert request.stop.strings.shape == (6, 1, 1)


def test_rows_of_a_request():
    request = make_request(3, ["a"], {}, {"seed": [3, 4, 5]}).rows(np.array([2, 0]))
    assert request.seed.tolist() == [5, 3] and request.stop.lengths.shape == (2, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_knob_is_infinite(value):
    parameters, floats = (
        make_sampling_parameters(len(SAMPLING_PARAMETERS), {}),
        [name for name in SAMPLING_PARAMETERS if SAMPLING_PARAMETERS[name].dtype == "float32"],
    )
    parameters |= {
        name: np.full(len(SAMPLING_PARAMETERS), SAMPLING_PARAMETERS[name].neutral, "float32") for name in floats
    }
    for row, name in enumerate(floats):
        parameters[name][row] = value
    failed = {name: to_numpy(rows) for name, rows in out_of_range(parameters).items()}
    for row, name in enumerate(floats):
        assert [other for other in SAMPLING_PARAMETERS if failed[other][row]] == [name]
    assert not any(rows[len(floats) :].any() for rows in failed.values())


def test_every_knob_out_of_range():
    parameters = make_sampling_parameters(4, {})
    parameters["top_p"] = np.array([1.0, 0.0, 2.0, 1.0], "float32")
    parameters["temperature"] = np.array([0.0, 0.0, -1.0, np.nan], "float32")
    failed = {name: np.flatnonzero(to_numpy(rows)).tolist() for name, rows in out_of_range(parameters).items()}
    assert {name: rows for name, rows in failed.items() if rows} == {"top_p": [1, 2], "temperature": [2, 3]}


def test_a_yes_or_no_is_no_number_and_no_fraction():
    assert make_sampling_parameters(1, {"early_stopping": True}, num_beams=2)["early_stopping"].tolist() == [1]
    for values in ({"early_stopping": 0.5}, {"max_new_tokens": True}):
        with pytest.raises(ValueError, match=f"{next(iter(values))} is a number of type int32"):
            make_sampling_parameters(1, values, num_beams=2)


def test_many_texts_share_their_stop_strings_and_biases():
    """Copies of these for each of a million texts would take 300 GB."""
    request = make_request(10**6, ["x" * 1024] * 64, dict.fromkeys(range(1000), 1.0), {})
    assert request.stop.strings.shape == (10**6, 64, 1024) and request.bias_ids.shape == (10**6, 1000)
    assert request.rows(np.array([7, 999_999])).stop.strings.shape == (2, 64, 1024)


@pytest.mark.parametrize(
    "bias",
    [
        *({token: 1.0} for token in (-1, 9, 1.5, True, "1", None)),
        *({1: value} for value in (float("nan"), float("inf"), 1e300, -1e300, 10**400, None, "x", [1], True)),
        [1],
        5,
    ],
)
def test_a_bias_is_a_number_for_a_token(bias):
    with pytest.raises(ValueError, match="token_bias "):
        check_bias(bias, 9)


def test_numbers_of_numpy_and_minus_infinity_are_biases():
    bias = {np.int64(8): np.float32(2), 0: float("-inf"), 1: -3}
    assert check_bias(bias, 9) is bias
    assert check_bias(None, 9) == {}
