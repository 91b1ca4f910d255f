"""Questions on the command line: SQuAD JSON in, answers out."""

from __future__ import annotations

import json

import pytest
import questions
from command_line import fail, run

import zoo
from keras_transformers.tasks.contract.kind import find_kind
from zoo.cli.data import Columns, examples_of, requests

QUESTIONS, CONTEXTS = ["Which film?", "Which day?"], ["a fine film, a dull film", "the long day"]
ANSWERS = [(2, "fine"), (4, "long")]
ROWS = {"questions": QUESTIONS, "contexts": CONTEXTS, "answers": ANSWERS}
KIND = find_kind("question_answering")


@pytest.fixture
def file(tmp_path):
    return questions.write_squad(tmp_path / "train.json", **ROWS)


@pytest.fixture(scope="module")
def model(folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions") / "model"
    zoo.load(folders["masked_lm"], "question_answering", seed=0).save(folder)
    return str(folder)


@pytest.mark.slow
def test_finetune_goes_all_the_way(folders, file, tmp_path):
    """With the answer of the export from a process of its own."""
    options = ("--task", "question_answering", "--train", file, "--test", file, "--epochs", "1")
    lines = run("finetune", folders["masked_lm"], *options, "--out", tmp_path / "out").splitlines()
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in ("exact_match", "f1"))
    answer = json.loads(lines[-1].removeprefix("  answer"))
    (expected,) = zoo.load(tmp_path / "out").predict(QUESTIONS[:1], CONTEXTS[:1])
    assert (answer["answer"], answer["start"]) == (expected["answer"], expected["start"])
    assert answer["score"] == pytest.approx(expected["score"], abs=1e-4)


@pytest.mark.integration
def test_finetune_asks_the_export(folders, file, tmp_path, served):
    options = ("--task", "question_answering", "--train", file, "--epochs", "1")
    run("finetune", folders["masked_lm"], *options, "--out", tmp_path / "out")
    assert served == [[QUESTIONS[0], CONTEXTS[0]]]


@pytest.mark.slow
def test_evaluate_and_predict(model, file, table):
    task = zoo.load(model)
    printed = json.loads(run("evaluate", model, "--data", file))
    measured = task.evaluate(QUESTIONS, ANSWERS, pairs=CONTEXTS)
    assert all(printed[name] == pytest.approx(measured[name]) for name in ("exact_match", "f1"))
    expected = [answer["answer"] for answer in task.predict(QUESTIONS, CONTEXTS)]
    both = [text for pair in zip(QUESTIONS, CONTEXTS, strict=True) for text in pair]
    rows = [{"question": q, "context": c} for q, c in zip(QUESTIONS, CONTEXTS, strict=True)]
    columns = ("--text", "question", "--text-pair", "context")
    for arguments in (both, ("--file", file), ("--file", table("rows.csv", rows), *columns)):
        lines = [json.loads(line) for line in run("predict", model, *arguments).splitlines()]
        assert [line["answer"] for line in lines] == expected
        assert [(line["text"], line["text_pair"]) for line in lines] == [*zip(QUESTIONS, CONTEXTS, strict=True)]


def test_what_a_file_gives(file):
    expected = {"texts": QUESTIONS, "labels": [[answer] for answer in ANSWERS], "pairs": CONTEXTS}
    assert examples_of(KIND, file, Columns()) == expected
    assert requests([], questions.Path(file), Columns(), KIND) == (QUESTIONS, CONTEXTS, None)
    assert requests(["a", "b", "c", "d"], None, Columns(), KIND) == (["a", "c"], ["b", "d"], None)


@pytest.mark.integration
def test_what_is_refused(folders, model, file, tmp_path):
    wrong = questions.write_squad(tmp_path / "wrong.json", **(ROWS | {"answers": [(3, "fine"), None]}))
    options = ("--task", "question_answering", "--out", tmp_path / "out")
    for arguments, message in (
        (("evaluate", model, "--data", wrong), "question 'q0': the answer 'fine' is not at character 3"),
        (("evaluate", model, "--data", file, "--label", "answers"), "no 'answers'; the object has 'version', 'data'"),
        (
            ("finetune", folders["masked_lm"], "--train", file, "--text", "q", *options),
            "no 'q'; the object has 'version', 'data'",
        ),
        (("finetune", folders["masked_lm"], *options), "for question_answering SQuAD JSON"),
        (("predict", model, "Which film?"), "takes pairs: received 1 texts"),
    ):
        code, printed = fail(*arguments)
        assert code == 2 and message in printed, printed
