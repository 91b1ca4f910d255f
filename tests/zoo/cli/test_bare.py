"""The script that answers with an export where only TensorFlow can be imported; `finetune` runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from command_line import python

import zoo
from zoo.cli import bare


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"gut", "gut"),
        ("Käse".encode(), "Käse"),
        (np.float32(1 / 3), 0.3333),
        (np.bool_(True), True),
        (np.array([[b"a", b""]], object), [["a", ""]]),
        (np.arange(3), [0, 1, 2]),
    ],
)
def test_values_become_those_of_json(value, expected):
    assert bare.plain(value) == expected
    json.dumps(bare.plain(value))


@pytest.fixture(scope="module")
def exported(folders, tmp_path_factory):
    """A classifier, and the folder of its export."""
    folder = tmp_path_factory.mktemp("exported") / "1"
    task = zoo.load(folders["classification"])
    task.export(folder)
    return task, str(folder)


@pytest.mark.integration
def test_it_answers_as_the_task_does(exported):
    """A pair here: `finetune` asks for a text."""
    task, folder = exported
    done = python(bare.__file__, folder, "a fine film", "the day")
    assert (done.returncode, done.stderr) == (0, "")
    answer, (expected,) = json.loads(done.stdout), task.predict(["a fine film"], ["the day"])
    assert (answer["label"], answer["truncated"]) == (expected["label"], False)
    assert answer["probabilities"] == pytest.approx(list(expected["probabilities"].values()), abs=1e-4)


@pytest.mark.integration
def test_it_takes_texts_that_no_argument_can_hold(exported):
    """A zero byte, an emoji, and more than the 128 KiB of an argument."""
    text = "a fine\0film 😀 " + "day " * 50_000
    done = subprocess.run(
        [sys.executable, bare.__file__, exported[1]], input=json.dumps([text]), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["label"] in ("bad", "good") and json.loads(done.stdout)["truncated"]
