"""`finetune` that goes wrong: mistakes are told before the work, and what was learnt is not lost."""

from __future__ import annotations

import re
import shutil

import keras
import pytest
from command_line import fail, invoke

import zoo
from keras_transformers.tasks import Task
from zoo.cli import finetune

TEXTS, LABELS = ("a fine film", "a dull book", "the fine day", "the long play"), ("good", "bad", "good", "bad")
ROWS = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]


def interrupt(*_, **__):
    raise KeyboardInterrupt


class Interrupt(keras.callbacks.Callback):
    """Ctrl-C in the second batch."""

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 1:
            interrupt()


@pytest.fixture
def command(folders, table, tmp_path, served):
    """`finetune` of a classifier to the folder `out`, two batches an epoch."""
    files = ("--train", table("train.csv", ROWS), "--test", table("test.csv", ROWS))
    options = ("--epochs", 2, "--batch-size", 2, "--out", tmp_path / "out")
    return ("finetune", folders["masked_lm"], *files, *options)


def never(*_, **__):
    pytest.fail("the work was begun")


@pytest.mark.parametrize(
    "problem, train, test, message",
    [
        ("single_label", "good bad", "bad so-so", r"test\.csv, row 2: unknown label 'so-so'; .* are \['bad', 'good'\]"),
        ("multi_label", "good|bad bad", "good bad|odd", r"test\.csv, row 2: unknown label 'odd'"),
        ("regression", "1 2", "1 high", r"test\.csv, row 2: 'high' is no label for the problem regression"),
        ("regression", "1 2", "1 nan", r"test\.csv, row 2: 'nan' is no label for the problem regression"),
    ],
)
def test_labels_of_the_test_file_are_checked_before_the_work(table, monkeypatch, problem, train, test, message):
    monkeypatch.setattr(zoo, "load", never, raising=False)
    rows = [[{"text": "a", "label": label} for label in labels.split()] for labels in (train, test)]
    files = ("--train", table("train.csv", rows[0]), "--test", table("test.csv", rows[1]))
    code, printed = fail("finetune", "mini_bert_en", *files, "--problem", problem)
    assert code == 2
    assert re.search(message, printed), printed


def test_what_else_is_wrong_with_the_test_file_is_told_before_the_work(folders, table, tmp_path, monkeypatch):
    monkeypatch.setattr(Task, "fit", never)
    blank = [{"text": "a fine film", "label": " "}]
    files = ("--train", table("train.csv", ROWS), "--test", table("test.csv", blank), "--label", "label")
    result = invoke("finetune", folders["seq2seq_lm"], "--task", "seq2seq_lm", *files, "--out", tmp_path / "out")
    assert (result.exit_code, "1 pairs, all with a blank side" in result.stderr) == (2, True)


@pytest.mark.parametrize("out, export", [("x", "x"), ("x", "x/1"), ("x/model", "x")])
def test_folders_in_one_another_are_refused(table, tmp_path, monkeypatch, out, export):
    monkeypatch.setattr(zoo, "load", never, raising=False)
    folders = ("--out", tmp_path / out, "--export", tmp_path / export)
    assert "side by side" in fail("finetune", "--train", table("train.csv", ROWS), *folders)[1]


def test_the_working_directory_is_refused_before_the_work(table, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    message = fail("finetune", "--train", table("a.csv", ROWS), "--out", ".")[1]
    assert ". is the working directory, so it is not replaced" in message


@pytest.mark.parametrize("name", ["evaluate", "export", "serve"])
def test_an_error_after_fit_says_where_the_model_is(command, tmp_path, monkeypatch, name):
    def broken(*_, **__):
        raise ValueError("no more")

    for step in ("fit", "export"):
        monkeypatch.setattr(Task, step, lambda *_, **__: None)
    monkeypatch.setattr(*((finetune, name) if name == "serve" else (Task, name)), broken)
    result = invoke(*command)
    assert result.exit_code == 2
    assert result.stderr == f"error: no more. The model is saved in {tmp_path / 'out'}.\n"
    assert zoo.load(tmp_path / "out").labels == ("bad", "good")


def test_an_interrupted_fit_is_kept(command, tmp_path, monkeypatch):
    """Beside the folder that was there before, which may hold a better model; a second interrupt leaves at once."""
    fit = Task.fit

    def interrupted(task, *arguments, callbacks=(), **options):
        return fit(task, *arguments, callbacks=[*callbacks, Interrupt()], **options)

    monkeypatch.setattr(Task, "fit", interrupted)
    result = invoke(*command)
    assert result.exit_code == 130
    assert "after 1 of 2 batches of epoch 1 of 2" in result.stdout
    assert f"save {tmp_path / 'out-interrupted'}" in result.stdout
    assert zoo.load(tmp_path / "out-interrupted").labels == ("bad", "good")
    assert not (tmp_path / "out").exists()
    before = (tmp_path / "out-interrupted" / "model.safetensors").read_bytes()
    monkeypatch.setattr("safetensors.numpy.save_file", interrupt)
    assert invoke(*command).exit_code == 130
    assert (tmp_path / "out-interrupted" / "model.safetensors").read_bytes() == before
    assert len(list(tmp_path.glob("*out*"))) == 1


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_a_model_that_cannot_be_saved_where_it_should_is_saved_beside(command, folders, tmp_path, monkeypatch, error):
    """A note was put there while it learnt."""
    folder = tmp_path / ("out-interrupted" if error else "out")
    shutil.copytree(folders["classification"], folder)
    fit = Task.fit

    def fit_and_note(*arguments, **options):
        fit(*arguments, **options)
        (folder / "notes.md").touch()
        if error:
            raise error

    monkeypatch.setattr(Task, "fit", fit_and_note)
    result = invoke(*command)
    (spare,) = tmp_path.glob(f"{folder.name}-*")
    assert (result.exit_code, "'notes.md' beside its config.json" in result.stderr) == (2, True)
    assert result.stderr.endswith(f"The model is saved in {spare}.\n")
    assert (folder / "notes.md").exists() and zoo.load(spare).labels == ("bad", "good")


def test_an_interrupt_before_the_first_step_keeps_nothing(command, tmp_path, monkeypatch):
    monkeypatch.setattr(Task, "fit", interrupt)
    result = invoke(*command)
    assert (result.exit_code, "before the first step" in result.stdout) == (130, True)
    assert not (tmp_path / "out-interrupted").exists()
