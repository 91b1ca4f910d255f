"""Labels of words on the command line: CoNLL and JSON lines in, entities out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import fail, run

import zoo
from keras_transformers.tasks.contract.kind import find_kind
from zoo.cli.data import Columns, examples_of, requests
from zoo.cli.printed_answers import DIGITS, as_json

WORDS, LABELS = [["a", "fine", "U.S.", "film"], ["the", "day"]], [["O", "O", "B-place", "O"], ["B-time", "I-time"]]
TEXTS = [" ".join(words) for words in WORDS]
SPANS = [[{"start": 7, "end": 11, "label": "place"}], [{"start": 0, "end": 7, "label": "time"}]]
NAMES = ("O", "B-place", "I-place", "B-time", "I-time")


@pytest.fixture
def files(tmp_path, table):
    """The same sentences in each format, by suffix."""
    sentences = [zip(*row, strict=True) for row in zip(WORDS, LABELS, strict=True)]
    conll = "\n\n".join("\n".join(f"{word}\t{label}" for word, label in row) for row in sentences)
    paths = {suffix: tmp_path / f"rows{suffix}" for suffix in (".conll", ".txt", ".tsv", ".annotated")}
    for path in paths.values():
        path.write_text(conll)
    paths[".jsonl"] = table("rows.jsonl", [{"text": t, "entities": s} for t, s in zip(TEXTS, SPANS, strict=True)])
    return paths


@pytest.fixture(scope="module")
def model(folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens") / "model"
    zoo.load(folders["masked_lm"], "token_classification", labels=NAMES, seed=0).save(folder)
    return str(folder)


@pytest.mark.slow
def test_finetune_goes_all_the_way(folders, files, tmp_path):
    """With the answer of the export from a process of its own; labels are completed to a scheme."""
    options = ("--task", "token_classification", "--train", files[".conll"], "--test", files[".txt"], "--epochs", "1")
    lines = run("finetune", folders["masked_lm"], *options, "--out", tmp_path / "out").splitlines()
    assert any(line.startswith("  f1 ") for line in lines) and any("for 5 labels" in line for line in lines)
    answer = json.loads(lines[-1].removeprefix("  answer"))
    assert len(answer["token_label"]) == 7 and answer["token"][2] == "U" and not answer["truncated"]
    assert zoo.load(tmp_path / "out").labels == NAMES


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:no text has the label")
def test_finetune_on_entities(folders, files, tmp_path, served):
    options = ("--task", "token_classification", "--train", files[".jsonl"], "--epochs", "1")
    run("finetune", folders["masked_lm"], *options, "--out", tmp_path / "out")
    assert zoo.load(tmp_path / "out").labels == NAMES
    assert served == [[TEXTS[0]]]


@pytest.mark.integration
def test_evaluate(model, files):
    printed = json.loads(run("evaluate", model, "--data", files[".annotated"]))
    measured = zoo.load(model).evaluate(WORDS, LABELS)
    shared = {"accuracy", "precision", "recall", "f1"}
    assert {key: printed[key] for key in shared} == pytest.approx({key: measured[key] for key in shared})
    assert printed["classes"].keys() == {"place", "time"}


def test_examples_of_files(files):
    kind = find_kind("token_classification")
    for suffix, path in files.items():
        spans = [[tuple(span.values()) for span in row] for row in SPANS]
        expected = {"texts": TEXTS, "labels": spans} if suffix == ".jsonl" else {"texts": WORDS, "labels": LABELS}
        assert examples_of(kind, path, Columns()) == expected


@pytest.mark.integration
def test_predict(model, files):
    answers = [json.loads(line) for line in run("predict", model, "--file", files[".conll"]).splitlines()]
    assert [answer["text"] for answer in answers] == TEXTS
    expected = zoo.load(model).predict(TEXTS)
    expected = [{"text": text, **answer} for text, answer in zip(TEXTS, expected, strict=True)]
    assert answers == [as_json(answer, DIGITS) for answer in expected]


def test_requests_of_files(files, table, tmp_path):
    kind = find_kind("token_classification")
    unlabelled = tmp_path / "words.conll"
    unlabelled.write_text("\n\n".join("\n".join(words) for words in WORDS))
    for file in (*files.values(), unlabelled, table("plain.csv", [{"text": text} for text in TEXTS])):
        assert requests([], Path(file), Columns(), kind).texts == TEXTS
    named = Path(table("named.tsv", [{"a": text} for text in TEXTS]))
    assert requests([], named, Columns(0), kind).texts == TEXTS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--problem", "multi_label"), "one label per word: received --problem multi_label"),
        (("--text", "0"), "leave --text and --text-pair out"),
        (("--label", "2"), "no column 2 of labels; expected a number from 1 to 1"),
    ],
)
def test_options_that_are_refused(files, options, message):
    arguments = ("finetune", "mini_bert_en", "--task", "token_classification", "--train", files[".conll"], *options)
    code, printed = fail(*arguments)
    assert code == 2 and message in printed


def test_a_training_file_is_needed():
    assert "needs --train" in fail("finetune", "mini_bert_en", "--task", "token_classification")[1]


def test_a_label_that_the_model_does_not_know(model, tmp_path):
    (tmp_path / "other.conll").write_text("Ann\tB-person\n")
    assert "row 0: unknown label 'B-person'" in fail("evaluate", model, "--data", tmp_path / "other.conll")[1]
