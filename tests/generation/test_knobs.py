from __future__ import annotations

import numpy as np
import pytest
from arrays import to_numpy

from keras_transformers.generation.knobs import KNOBS, knobs_of, make_knobs, make_request, out_of_range


@pytest.mark.parametrize(
    "values, message",
    [
        ({"temprature": 1.0}, r"temprature.*there are \['max_new_tokens'.*'temperature'"),
        ({"length_penalty": 1.0}, "num_beams=1"),
        ({"max_new_tokens": 0}, r"max_new_tokens must be in \[1, .*received 0"),
        ({"top_k": 2.5}, "type int32.*received 2.5"),
        ({"top_p": [0.5, 0.0]}, r"top_p must be in \[1e-06, 1\]"),
        ({"seed": [1, 2, 3]}, r"one a text \(2\): received 3"),
        ({"temperature": "hot"}, "type float32.*hot"),
        ({"temperature": float("nan")}, "temperature must be in"),
    ],
)
def test_what_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        make_knobs(2, values)


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "seed"])
def test_beams_are_not_sampled(name):
    with pytest.raises(ValueError, match=f"unknown options.*{name}.*num_beams=4.*length_penalty"):
        make_knobs(2, {name: 1}, num_beams=4)


def test_stop_strings_are_a_list():
    for stop in ("end", ["a", ""], [b"a"]):
        with pytest.raises(ValueError, match="stop must be a list of str"):
            make_request(1, stop, {}, {})
    assert make_request(1, (string for string in "ab"), {}, {})["stop"].tolist() == [[b"a", b"b"]]


def test_a_stop_string_with_a_lone_surrogate_is_named():
    with pytest.raises(ValueError, match=r"`stop`: the text at row 1 has the lone surrogate '\\ud83d' at character 0"):
        make_request(1, ["a", "\ud83d"], {}, {})


@pytest.mark.parametrize(("stop", "message"), [(["a"] * 65, "Received 65, "), (["ä" * 513], "of 1,026 bytes")])
def test_stop_strings_are_few_and_short(stop, message):
    """They are looked for at every step."""
    with pytest.raises(ValueError, match=f"stop takes at most 64 strings of at most 1,024 bytes.*{message}"):
        make_request(1, stop, {}, {})
    assert make_request(1, ["ä" * 512] * 64, {}, {})["stop"].shape == (1, 64)


def test_a_request_has_a_row_for_each_text():
    request = make_request(3, ["ä", "b"], {5: 1.5}, {"seed": [1, 2, 3], "top_k": 4})
    assert all(len(column) == 3 for column in request.values())
    assert request["stop"].tolist() == [["ä".encode(), b"b"]] * 3
    assert (request["seed"].tolist(), request["top_k"].tolist()) == ([1, 2, 3], [4, 4, 4])
    assert {name: request[name].dtype.name for name in KNOBS if name in request} == {
        name: knob.dtype for name, knob in knobs_of(1).items()
    }


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_knob_is_infinite(value):
    knobs, floats = make_knobs(len(KNOBS), {}), [name for name in KNOBS if KNOBS[name].dtype == "float32"]
    knobs |= {name: np.full(len(KNOBS), KNOBS[name].neutral, "float32") for name in floats}
    for row, name in enumerate(floats):
        knobs[name][row] = value
    wrong = to_numpy(out_of_range(knobs))
    assert [list(KNOBS)[number] for number in wrong[: len(floats)]] == floats and set(wrong[len(floats) :]) == {-1}


def test_the_first_knob_out_of_range():
    knobs = make_knobs(4, {})
    knobs["top_p"] = np.array([1.0, 0.0, 2.0, 1.0], "float32")
    knobs["temperature"] = np.array([0.0, 0.0, -1.0, np.nan], "float32")
    names = [None if number < 0 else list(KNOBS)[number] for number in to_numpy(out_of_range(knobs))]
    assert names == [None, "top_p", "temperature", "temperature"]


def test_a_yes_or_no_is_no_number_and_no_fraction():
    assert make_knobs(1, {"early_stopping": True}, num_beams=2)["early_stopping"].tolist() == [1]
    for values in ({"early_stopping": 0.5}, {"max_new_tokens": True}):
        with pytest.raises(ValueError, match=f"{next(iter(values))} is a number of type int32"):
            make_knobs(1, values, num_beams=2)
