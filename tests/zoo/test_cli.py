"""The commands, in this process, on files of each format and a model of a few weights."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import fail, invoke, run

import zoo
from zoo._recipe import remove_state, state_folder
from zoo.cli import describe as describe_verb
from zoo.cli import train as train_verb
from zoo.cli.data import Columns, read_labelled

COMMANDS = ("list", "describe", "train", "finetune", "evaluate", "predict", "generate", "export")
LABELS = {"a fine film": "good", "a dull book": "bad", "the fine day": "good", "the long play": "bad"}
ROWS = [{"text": text, "label": label} for text, label in LABELS.items()]
FORMATS = {"rows.csv": (), "rows.tsv": ("--text", "0", "--label", "1"), "rows.jsonl": ()}


def json_lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    assert command in run("--help")
    assert f"python -m zoo {command}" in run(command, "--help")


def test_no_command_is_help():
    assert run().strip() == run("--help").strip()


def test_list():
    table = run("list")
    assert all(name in table for name in zoo.names())
    assert "109,482,240" in table and "12 x 768" in table and "Apache-2.0" in table
    assert "bert_large_en_cased" not in run("list", "bert_base*")
    assert [line.split()[0] for line in run("list", "--bundled").splitlines()[3:] if line.strip()] == [
        "gpt_mini_en",
        "mini_bert_en",
        "transformer_mini_en_de",
    ]


@pytest.mark.parametrize("name", zoo.names())
def test_describe(name):
    entry, text = zoo.describe(name), " ".join(run("describe", name).split())  # a long line is wrapped
    for fact in (name, entry.summary, f"{entry.parameters:,}", entry.licence, entry.paper, entry.task):
        assert fact in text
    assert all(str(value) in text for value in entry.results.values())


def test_finetune_goes_all_the_way(folders, table, tmp_path):
    """With the answer of the export from a process of its own."""
    out = tmp_path / "out"
    files = ("--train", table("train.csv", ROWS), "--test", table("test.csv", ROWS))
    lines = run("finetune", folders["pretraining"], *files, "--epochs", "1", "--out", out).splitlines()
    starts = ("load", "fit", "evaluate", "  accuracy", "save", "export", "serve", "  request", "  answer")
    assert [start for start in starts if any(line.startswith(start) for line in lines)] == list(starts)
    answer = json.loads(lines[-1].removeprefix("  answer"))
    assert answer["label"] in ("bad", "good") and len(answer["probabilities"]) == 2 and not answer["truncated"]
    task = zoo.load(out)
    assert task.labels == ("bad", "good")
    served = task.predict([ROWS[0]["text"]])[0]
    assert answer["label"] == served["label"]
    assert answer["probabilities"] == pytest.approx(list(served["probabilities"].values()), abs=1e-4)


def test_finetune_pairs_with_several_labels_without_a_header(folders, table, tmp_path, served):
    rows = [{"a": "a fine film", "b": "the day", "c": "x|y"}, {"a": "a dull book", "b": "the play", "c": ""}]
    out, export = tmp_path / "out", tmp_path / "served" / "1"
    columns = ("--text", "0", "--text-pair", "1", "--label", "2", "--problem", "multi_label")
    folders_out = ("--out", out, "--export", export)
    run("finetune", folders["masked_lm"], "--train", table("pairs.tsv", rows), *columns, *folders_out)
    assert (zoo.load(out).labels, zoo.load(out).problem) == (("x", "y"), "multi_label")
    assert (export / "saved_model.pb").is_file()
    assert served == [["a fine film", "the day"]]


def test_finetune_numbers(folders, table, tmp_path, served):
    rows = [{"text": "a fine film", "stars": 4.5}, {"text": "a dull book", "stars": 1}]
    train = table("train.jsonl", rows)
    options = ("--label", "stars", "--problem", "regression", "--out", tmp_path / "out", "--learning-rate", "0.001")
    printed = run("finetune", folders["masked_lm"], "--train", train, "--test", train, *options)
    assert "mean_absolute_error" in printed and "learning_rate 0.001" in printed
    assert zoo.load(tmp_path / "out").labels == ("stars",)


@pytest.mark.parametrize("name", FORMATS)
def test_evaluate(folders, table, name):
    printed = json.loads(run("evaluate", folders["classification"], "--data", table(name, ROWS), *FORMATS[name]))
    task = zoo.load(folders["classification"])
    assert printed == pytest.approx(task.evaluate(list(LABELS), list(LABELS.values())))


def test_evaluate_language_models(folders, table, tmp_path):
    assert "perplexity" in run("evaluate", folders["masked_lm"], "--data", table("rows.csv", ROWS))
    text = tmp_path / "valid.txt"
    text.write_text("= One =\nA fine day. A long film.\nThe book.\n= Two =\nA dull day. A fine play.\nThe song.\n")
    assert "next_sentence_logits_accuracy" in run("evaluate", folders["pretraining"], "--data", text)


def test_predict_takes_arguments_lines_and_files(folders, table):
    model, texts = folders["classification"], list(LABELS)
    answers = json_lines(run("predict", model, *texts))
    assert [answer["text"] for answer in answers] == texts
    assert {answer["label"] for answer in answers} <= {"bad", "good"}
    assert answers == json_lines(run("predict", model, stdin="\r\n".join(texts)))
    assert answers == json_lines(run("predict", model, "--file", table("rows.tsv", ROWS), "--text", "0"))
    one_by_one = json_lines(run("predict", model, *texts, "--batch-size", "1"))
    assert [answer["label"] for answer in one_by_one] == [answer["label"] for answer in answers]


def test_predict_takes_pairs(folders, table):
    file = table("pairs.jsonl", [{"q": "a fine film", "a": "the day"}])
    (answer,) = json_lines(run("predict", folders["classification"], "--file", file, "--text", "q", "--text-pair", "a"))
    assert (answer["text"], answer["text_pair"]) == ("a fine film", "the day")


def test_predict_fills_gaps(folders):
    (answer,) = json_lines(run("predict", folders["pretraining"], "a [MASK] film"))
    assert len(answer["fills"][0]) == 5


def test_export(folders, tmp_path):
    run("export", folders["classification"], tmp_path / "served" / "1")
    assert (tmp_path / "served" / "1" / "saved_model.pb").is_file()


def test_train_calls_the_recipe_with_what_was_given(monkeypatch, tmp_path):
    calls = []

    def recipe(data, folder, epochs=4, verbose=1):
        calls.append((data, folder, epochs))
        return {"accuracy": 0.5}

    monkeypatch.setattr(train_verb, "module", lambda name: SimpleNamespace(train=recipe))
    arguments = ("train", "mini_bert_en", "--data", tmp_path, "--out", tmp_path / "out")
    assert json.loads(run(*arguments, "--epochs", "2").splitlines()[-1]) == {"accuracy": 0.5}
    assert calls == [(tmp_path, tmp_path / "out", 2)]
    assert "no options ['seed']" in fail(*arguments, "--seed", "3")[1]


def test_a_run_that_has_ended_leaves_no_state(monkeypatch, tmp_path):
    """One that fails behind its last step, or is interrupted, keeps it; what no run has written there stays."""
    out, state = tmp_path / "out", tmp_path / "out.resume"
    files = ("epoch-00000-batch-00000004.npz", "epoch-00001-batch-00000000.npz", "partial", "epochs/e.weights.h5")
    files += ("first/epoch-00005-batch-00000000.npz",)

    def recipe(data, folder, verbose=1):
        assert state_folder(folder) == state
        for name in files:
            (state / name).parent.mkdir(parents=True, exist_ok=True)
            (state / name).touch()
        if error is not None:
            raise error
        return {}

    monkeypatch.setattr(train_verb, "module", lambda name: SimpleNamespace(train=recipe))
    arguments = ("train", "mini_bert_en", "--data", tmp_path, "--out", out)
    error = ValueError("there is no valid.txt")
    assert invoke(*arguments).exit_code == 2 and all((state / name).exists() for name in files)
    error = KeyboardInterrupt()
    result = invoke(*arguments)
    assert (result.exit_code, f"goes on from the last state in {state}" in result.stdout) == (130, True)
    assert all((state / name).exists() for name in files)
    error = None
    (state / "notes.md").touch()
    run(*arguments)
    assert [path.name for path in state.iterdir()] == ["notes.md"]
    (state / "notes.md").unlink()
    for name in ("first", "partial"):  # what no run has written may have any name
        (state / name).mkdir(exist_ok=True)
    remove_state(out)
    assert [path.name for path in state.iterdir()] == ["partial"]
    (state / "partial").rmdir()
    (state / "first").touch()
    remove_state(out)
    (state / "first").unlink()
    run(*arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_finetune_without_arguments(tmp_path):
    """The main job. Chance is 0.125; a bag-of-words model reaches 0.85."""
    lines = run("finetune", "--out", tmp_path / "out").splitlines()
    (accuracy,) = [float(line.split()[1]) for line in lines if line.startswith("  accuracy")]
    assert accuracy > 0.6
    assert json.loads(lines[-1].removeprefix("  answer"))["label"] in zoo.load(tmp_path / "out").labels


@pytest.fixture
def foreign(tmp_path) -> Path:
    """A folder that is not ours to replace."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("work of years")
    return tmp_path / "thesis"


REFUSED = {
    "unknown command": (("lsit",), "No such command"),
    "unknown option": (("list", "--all"), "No such option"),
    "argument missing": (("describe",), "[Mm]issing"),
    "not a number": (("finetune", "--epochs", "many"), "epochs"),
    "no such pattern": (("list", "rnn*"), "no model is named like 'rnn"),
    "wrong name": (("describe", "mini_bert"), "nearest names are .*mini_bert_en"),
    "no recipe": (("train", "bert_base_en_cased", "--data", ".", "--out", "x"), "there is no recipe"),
    "no data": (("train", "mini_bert_en", "--data", "no/such", "--out", "x"), "there is no folder no/such"),
    "no file": (("finetune", "--train", "no.csv"), "no.csv: there is no such file"),
    "test alone": (("finetune", "--test", "no.csv"), "without --train"),
    "no text": (("predict", "mini_bert_en"), "received no text"),
    "texts and file": (("predict", "mini_bert_en", "a", "--file", "a.csv"), "give one of them"),
    "no folder": (("evaluate", "no/such", "--data", "x.csv"), "there is no folder 'no/such'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_told_in_one_line(case):
    arguments, message = REFUSED[case]
    code, printed = fail(*arguments)
    assert code == 2
    assert re.search(message, printed), printed


def test_a_bad_label_is_told_with_its_row(table):
    rows = [*ROWS, {"text": "a song", "label": ""}]
    assert "row 5: '' is no label" in fail("finetune", "--train", table("train.csv", rows))[1]
    file = table("numbers.csv", ROWS)
    assert "row 1: 'good' is no label" in fail("finetune", "--train", file, "--problem", "regression")[1]


def test_texts_and_patterns_that_no_tokenizer_takes(folders, table, tmp_path):
    """Each is one line that says what to mend; a pattern of endless time was a panic, past every `except Exception`."""
    code, printed = fail("predict", folders["classification"], "fine", "half \ud83d")
    assert code == 2 and "row 1 has the lone surrogate" in printed
    folder, file = tmp_path / "model", table("rows.csv", [{"text": "a" * 40, "label": "good"}])
    shutil.copytree(folders["classification"], folder)
    config = json.loads((folder / "tokenizer.json").read_text())
    pattern = {"type": "Replace", "pattern": {"Regex": "(a+)+b"}, "content": "c"}
    (folder / "tokenizer.json").write_text(json.dumps(config | {"normalizer": pattern}))
    for command, message in ((("predict", folder, "a"), "(a+)+b"), (("evaluate", folder, "--data", file), "a pattern")):
        code, printed = fail(*command)
        assert code == 2 and message in printed, printed


def test_one_class_is_not_enough(table):
    assert "at least two classes" in fail("finetune", "--train", table("train.csv", ROWS[:1]))[1]


def test_labels_that_the_model_does_not_know(folders, table):
    file = table("other.csv", [{"text": "a song", "label": "so-so"}])
    assert "unknown label 'so-so'" in fail("evaluate", folders["classification"], "--data", file)[1]


def test_a_folder_of_others_is_refused_before_the_work(foreign, folders, table, monkeypatch):
    monkeypatch.setattr(zoo, "load", lambda *_, **__: pytest.fail("loaded"), raising=False)
    file = table("train.csv", ROWS)
    for command in (
        ("finetune", "--train", file, "--out", foreign),
        ("finetune", "--train", file, "--out", foreign / "new", "--export", foreign),
        ("export", folders["classification"], foreign),
        ("train", "mini_bert_en", "--data", foreign, "--out", foreign),
    ):
        assert "is not replaced" in fail(*command)[1]
    assert (foreign / "chapter1.txt").read_text() == "work of years"


def broken(*_):
    raise KeyError("sizes")


def test_other_errors_are_one_line_and_another_code(monkeypatch):
    monkeypatch.setattr(describe_verb, "facts", broken)
    code, message = fail("describe", "mini_bert_en")
    assert code == 1 and "KeyError" in message and "--debug" in message


def test_debug_shows_where(monkeypatch):
    monkeypatch.setattr(describe_verb, "facts", broken)
    result = invoke("--debug", "describe", "mini_bert_en")
    assert isinstance(result.exception, KeyError)


@pytest.mark.parametrize("label", [None, 3])
def test_a_row_without_labels_of_several(tmp_path, label):
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "a", "label": label}))
    with pytest.raises(ValueError, match=f"row 1: {label} is no label for the problem multi_label"):
        read_labelled(tmp_path / "rows.jsonl", Columns(), "multi_label")
