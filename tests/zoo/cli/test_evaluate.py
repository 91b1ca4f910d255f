"""`evaluate`."""

from __future__ import annotations

import json

import pytest
from command_line import LABELS, ROWS, fail, invoke, run

import zoo

FORMATS = {"rows.csv": (), "rows.tsv": ("--text", "0", "--label", "1"), "rows.jsonl": ()}


@pytest.mark.integration
@pytest.mark.usefixtures("loaded_once")
@pytest.mark.parametrize("name", FORMATS)
def test_evaluate(folders, table, name):
    printed = json.loads(run("evaluate", folders["classification"], "--data", table(name, ROWS), *FORMATS[name]))
    task = zoo.load(folders["classification"])
    expected = task.evaluate(list(LABELS), list(LABELS.values()))
    assert {key: printed[key] for key in expected} == pytest.approx(expected)
    assert printed["classes"].keys() == {"bad", "good"} and sum(map(sum, printed["confusion"]["counts"])) == 4


@pytest.mark.integration
@pytest.mark.usefixtures("loaded_once")
def test_a_tab_separated_file_may_have_a_header(folders, tmp_path):
    file = tmp_path / "rows.tsv"
    file.write_text("text\tlabel\n" + "".join(f"{row['text']}\t{row['label']}\n" for row in ROWS))
    report = json.loads(run("evaluate", folders["classification"], "--data", file))
    assert sum(map(sum, report["confusion"]["counts"])) == 4
    file.write_text("text\tlabel\n")
    assert "rows.tsv: no rows; expected at least one." in fail("evaluate", folders["classification"], "--data", file)[1]


@pytest.mark.integration
def test_evaluate_language_models(folders, table, tmp_path):
    assert "perplexity" in run("evaluate", folders["masked_lm"], "--data", table("rows.csv", ROWS))
    text = tmp_path / "valid.txt"
    text.write_text("= One =\nA fine day. A long film.\nThe book.\n= Two =\nA dull day. A fine play.\nThe song.\n")
    assert "next_sentence_logits_accuracy" in run("evaluate", folders["pretraining"], "--data", text)


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit", "no_export", "served")
def test_a_note_tells_that_the_file_was_trained_on(table, tmp_path):
    train, other = table("rows.csv", ROWS * 3), table("other.csv", ROWS)
    run("finetune", "mini_bert_en", "--train", train, "--epochs", "1", "--max-length", "8", "--out", tmp_path / "m")
    card = (tmp_path / "m" / "README.md").read_text()
    assert "fit 6 texts: 1 epoch" in card and "| accuracy | " in card and "training/curve.html" not in card
    assert "names" in (note := invoke("evaluate", tmp_path / "m", "--data", train).stderr) and str(train) in note
    assert invoke("evaluate", tmp_path / "m", "--data", other).stderr == ""


def test_labels_that_the_model_does_not_know(folders, table):
    file = table("other.csv", [{"text": "a song", "label": "so-so"}])
    error = fail("evaluate", folders["classification"], "--data", file)[1]
    assert f"{file}, row 1 (line 2): unknown label 'so-so'; the labels of the model are ['bad', 'good']" in error
