"""Tasks of several texts on the command line: sentence embeddings, ranking and multiple choice."""

from __future__ import annotations

import json

import pytest
from command_line import run

import zoo
from keras_transformers.tasks.contract.kind import find_kind
from zoo.cli.data import Columns, examples_of

PAIRS = [{"a": f"question {n}", "b": f"answer {n}", "score": n / 4} for n in range(4)]
CHOICES = [{"text": f"It is {n}.", "choices": ["Yes.", "No.", "Two."], "label": n % 3} for n in range(6)]
AB = Columns("a", "b", "score")


@pytest.fixture
def files(table):
    return {"pairs": table("pairs.csv", PAIRS), "choices": table("choices.jsonl", CHOICES)}


def test_pairs_with_and_without_scores(files):
    kind = find_kind("sentence_embedding")
    rows = examples_of(kind, files["pairs"], AB)
    assert rows["labels"] == [0.0, 0.25, 0.5, 0.75] and rows["pairs"][0] == "answer 0"
    assert examples_of(kind, files["pairs"], AB._replace(label=None)).keys() == {"texts", "pairs"}
    assert examples_of(kind, files["pairs"], Columns("a", "b", "b"))["labels"][1] == "answer 1"
    assert examples_of(find_kind("ranking"), files["pairs"], AB, "single_label")["labels"][3] == 0.75


def test_choices(files, table):
    rows = examples_of(find_kind("multiple_choice"), files["choices"], Columns())
    assert rows["labels"][:3] == [0, 1, 2] and rows["pairs"][0] == ["Yes.", "No.", "Two."]
    bad = table("bad.jsonl", [{"text": "a", "choices": "b", "label": 0}])
    with pytest.raises(ValueError, match=r"row 1: 'choices' is 'b'; expected a list"):
        examples_of(find_kind("multiple_choice"), bad, Columns())
    with pytest.raises(ValueError, match="expected JSON lines"):
        examples_of(find_kind("multiple_choice"), files["pairs"], Columns())


@pytest.mark.slow
@pytest.mark.parametrize("task", ["sentence_embedding", "ranking", "multiple_choice"])
def test_from_a_file_to_an_answer(task, files, tmp_path):
    columns = ["--text", "a", "--text-pair", "b", "--label", "score"]
    data = {"multiple_choice": [files["choices"]]}.get(task, [files["pairs"], *columns])
    loss = {"sentence_embedding": ["--loss", "cosine"]}.get(task, [])
    out, options = tmp_path / "model", ["--task", task, "--epochs", 1, "--max-length", 16]
    printed = run("finetune", "mini_bert_en", *options, *loss, "--train", *data, "--test", data[0], "--out", out)
    measured = {"sentence_embedding": "spearman", "ranking": "binary_accuracy", "multiple_choice": "accuracy"}[task]
    answered = {"sentence_embedding": "similarity", "ranking": "score", "multiple_choice": "choice"}[task]
    assert f"  {measured} " in printed and answered in json.loads(printed.splitlines()[-1].removeprefix("  answer "))

    results = json.loads(run("evaluate", out, "--data", *data, "--task", task, *loss))
    assert measured in results
    if task == "sentence_embedding":
        assert len(json.loads(run("predict", out, "a text"))["embedding"]) == 256
        lines = run("predict", out, "--file", files["pairs"], *columns[:4]).splitlines()
        assert [json.loads(line).keys() >= {"text", "text_pair", "similarity"} for line in lines] == [True] * 4


def test_a_loss_of_another_task():
    with pytest.raises(ValueError, match="loss belongs to task='ranking' or 'sentence_embedding'"):
        zoo.load("mini_bert_en", "classification", labels=2, loss="cosine")
