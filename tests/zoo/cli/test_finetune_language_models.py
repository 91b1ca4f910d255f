"""`finetune` of language models: on plain text, on inputs and targets, on translations."""

from __future__ import annotations

import json

import pytest
from command_line import fail, run

import zoo

LINES = ["a fine film", "a dull book", "the fine day", "", "the long play"]


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


@pytest.mark.integration
@pytest.mark.usefixtures("loaded_once", "eager_fit")
def test_finetune_on_a_text_file(folders, text_file, tmp_path, served):
    out = tmp_path / "out"
    files = ("--train", text_file, "--test", text_file)
    lines = run(
        "finetune", folders["causal_lm"], "--task", "causal_lm", *files, "--epochs", 1, "--out", out
    ).splitlines()
    for start in ("fit 4 texts", "evaluate 4 held-out texts", "  perplexity", "save", "export"):
        assert any(line.startswith(start) for line in lines), start
    assert served == [["a fine film"]]
    assert (tmp_path / "out-export" / "1" / "saved_model.pb").is_file()
    assert zoo.load(out).name == "causal_lm"
    assert set(json.loads(run("evaluate", out, "--data", text_file))) == {"accuracy", "cross_entropy", "perplexity"}
    answer = json.loads(run("predict", out, "a fine"))
    assert answer["text"] == "a fine" and answer["generated_text"] == zoo.load(out).generate(["a fine"])[0]


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit", "no_export")
def test_finetune_on_inputs_and_targets(folders, table, tmp_path, served):
    rows = [{"text": "a fine film", "label": " a fine day"}, {"text": "a dull book", "label": " a dull play"}]
    files = ("--train", table("pairs.csv", rows), "--out", tmp_path / "out")
    run("finetune", folders["causal_lm"], "--task", "causal_lm", *files, "--label", "label", "--epochs", 1)
    assert served == [["a fine film"]]


def test_finetune_errors(folders, tmp_path):
    command = ("finetune", folders["causal_lm"], "--task", "causal_lm", "--out", tmp_path / "out")
    assert "needs --train" in fail(*command)[1]
    assert "there is no such file" in fail(*command, "--train", tmp_path / "none.txt")[1]
    (tmp_path / "blank.txt").write_text("\n\n")
    assert "contains no text" in fail(*command, "--train", tmp_path / "blank.txt")[1]
    for name, content, message in (
        ("lines.txt", "a\n", "text without columns, so none is 'b'"),
        ("numbers.jsonl", '{"text": "a", "b": 1}\n', "row 1 (line 1): 'b' is 1; expected a string"),
    ):
        (tmp_path / name).write_text(content)
        assert message in fail(*command, "--train", tmp_path / name, "--label", "b")[1]


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit")
def test_finetune_translations(folders, table, tmp_path, served):
    rows = [{"en": "a fine film", "de": "ein guter Film"}, {"en": "a dull book", "de": "ein fades Buch"}]
    command = ("finetune", folders["seq2seq_lm"], "--task", "seq2seq_lm", "--out", tmp_path / "out")
    files = ("--train", table("pairs.csv", rows), "--test", table("more.csv", rows), "--text", "en")
    assert "needs --label" in fail(*command, *files)[1]
    lines = run(*command, *files, "--label", "de", "--epochs", 1)
    assert "perplexity" in lines and served == [["a fine film"]]
    assert zoo.load(tmp_path / "out").name == "seq2seq_lm"
    assert (tmp_path / "out-export" / "1" / "saved_model.pb").is_file()
