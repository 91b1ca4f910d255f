"""docs/serving/c: the commands of the README compile the program, and it says what `predict` says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "serving" / "c"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
BUILD, RUN = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
TEXTS = [
    "a fine film", "", " ", "schön 😀 ünïcode 中文 שלום", 'quotes " and \\ and\nlines\tand [MASK]',
    "a warm day " * 5_000,
]  # fmt: skip

pytestmark = pytest.mark.slow
Answers = dict[str, dict[tuple[int, ...], list]]


def compiler() -> str:
    """A C compiler of this machine, or the one in the package `ziglang`."""
    if shutil.which("cc"):
        return "cc"
    if find_spec("ziglang"):
        return f"{sys.executable} -m ziglang cc"
    return pytest.skip("no C compiler: install gcc, or the package ziglang")


def shell(command: str, folder: Path, **environment: str) -> str:
    """What a block of the README prints, with the Python of this process."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    process = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=os.environ | {"PATH": path} | environment,
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("c")
    shutil.copy(FOLDER / "predict.c", folder)
    shell(BUILD, folder, CC=f"{compiler()} -Wextra -Werror")
    return folder / "predict"


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *arguments], capture_output=True, encoding="utf-8")


def parse(output: str) -> Answers:
    """The values of each line, by output and indices."""
    answers: Answers = {}
    for line in output.removesuffix("\n").split("\n"):  # splitlines would part at other characters too
        name, indices, values = re.fullmatch(r"(\w+)((?:\[\d+\])*) =(.*)", line).groups()
        place = tuple(map(int, re.findall(r"\d+", indices)))
        assert place not in answers.setdefault(name, {})
        answers[name][place] = list(parse_values(values))
    assert list(answers) == sorted(answers)
    return answers


def parse_values(text: str):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        assert text[at] == " "
        value, at = decoder.raw_decode(text, at + 1)
        yield value


@pytest.fixture(scope="session")
def ask(program) -> Callable[..., Answers]:
    def ask(folder: Path, texts: list[str]) -> Answers:
        process = run(program, str(folder), *texts)
        assert process.returncode == 0, process.stderr[-3000:]
        return parse(process.stdout)

    return ask


def column(answers: Answers, name: str, rows: int) -> list[Any]:
    """The one value of each row."""
    values = answers[name]
    assert list(values) == [(row,) for row in range(rows)] and all(len(value) == 1 for value in values.values())
    return [value for (value,) in values.values()]


def test_classification(ask, exported):
    task, folder = exported("classification")
    answers, expected = ask(folder, TEXTS), task.predict(TEXTS)
    assert sorted(answers) == ["label", "probabilities", "truncated"]
    assert column(answers, "label", len(TEXTS)) == [row["label"] for row in expected]
    assert column(answers, "truncated", len(TEXTS)) == [row["truncated"] for row in expected]
    assert {row["truncated"] for row in expected} == {False, True}
    probabilities = [list(row["probabilities"].values()) for row in expected]
    np.testing.assert_allclose(list(answers["probabilities"].values()), probabilities, atol=1e-5)


def test_vectors(ask, exported):
    task, folder = exported("sentence_embedding")
    answers = ask(folder, TEXTS)
    assert sorted(answers) == ["embedding", "truncated"]
    np.testing.assert_allclose(list(answers["embedding"].values()), task.embed(TEXTS), atol=1e-5)


def test_entities(ask, exported):
    task, folder = exported("token_classification")
    answers, expected = ask(folder, TEXTS), task.predict(TEXTS)
    for row, answer in enumerate(expected):
        for output, name in {"label": "label", "entity": "text", "start": "start", "end": "end"}.items():
            values = answers[output][row,][: len(answer["entities"])]
            assert values == [entity[name] for entity in answer["entities"]]


@pytest.mark.parametrize("name", ["masked_lm", "pretraining"])
def test_three_dimensions(name, ask, exported):
    task, folder = exported(name)
    texts = ["He was a [MASK] man, and [MASK] said so.", "[MASK]", *TEXTS]
    answers = ask(folder, texts)
    for row, expected in enumerate(task.predict(texts)):
        gaps = {place: tokens for place, tokens in answers["tokens"].items() if place[0] == row and tokens[0]}
        assert list(gaps) == [(row, gap) for gap in range(len(expected["fills"]))]
        assert list(gaps.values()) == [[token for token, _ in fills] for fills in expected["fills"]]
        for place, fills in zip(gaps, expected["fills"], strict=True):
            np.testing.assert_allclose(answers["probabilities"][place], [value for _, value in fills], atol=1e-5)


def test_generation(ask, exported):
    task, folder = exported("causal_lm")
    texts = ["Call me", "", "It was a dark night, and\n"]
    answers, expected = ask(folder, texts), task.predict(texts, max_new_tokens=20)
    for output in ("generated_text", "num_tokens", "truncated", "error"):
        assert column(answers, output, len(texts)) == [row[output] for row in expected]
    np.testing.assert_allclose(column(answers, "score", len(texts)), [row["score"] for row in expected], rtol=1e-5)


def test_the_example_of_the_readme(program, exported):
    folder = program.parent / "serving" / "sentiment" / "1"
    shutil.copytree(exported("classification").folder, folder)
    (example,) = re.findall(r"```\n(\w+\[0\] = .*?)```", README, re.DOTALL)
    places = {name: list(values) for name, values in parse(example).items()}
    assert {name: list(values) for name, values in parse(shell(RUN, program.parent)).items()} == places


@pytest.fixture(scope="session")
def others(tmp_path_factory) -> Path:
    """SavedModels that the program cannot ask."""
    folder = tmp_path_factory.mktemp("others")
    text, numbers = tf.TensorSpec([None], tf.string, "text"), tf.TensorSpec([None], tf.float32, "numbers")
    save = {
        "nameless": {"other": tf.function(lambda text: {"text": text}, [text])},
        "two": {"serving_default": tf.function(lambda text, numbers: {"numbers": numbers}, [text, numbers])},
        "numbers": {"serving_default": tf.function(lambda numbers: {"numbers": numbers}, [numbers])},
        "double": {"serving_default": tf.function(lambda text: {"zeros": tf.zeros([1], tf.float64)}, [text])},
    }
    for name, signatures in save.items():
        tf.saved_model.save(tf.Module(), str(folder / name), signatures=signatures)
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"received 0 arguments, expected FOLDER"),
        (["two"], r"received 1 arguments, expected FOLDER"),
        (["nowhere", "a text"], r"nowhere: .*Could not find SavedModel"),
        (["nameless", "a text"], r"has no signature serving_default"),
        (["two", "a text"], r"has 2 inputs, among them 'numbers': expected 'text' alone"),
        (["numbers", "a text"], r"has 1 inputs, among them 'numbers': expected 'text' alone"),
        (["double", "a text"], r"cannot print values of type 2"),
    ],
)
def test_errors(arguments, message, program, others):
    process = run(program, *[str(others / value) if place == 0 else value for place, value in enumerate(arguments)])
    assert process.returncode == 1
    last = process.stderr.strip().split("\n")[-1]
    assert last.startswith("predict: ") and re.search(message, last)
