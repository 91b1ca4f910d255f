"""`finetune` of classifiers: from files to an export that answers, and what goes wrong on the way."""

from __future__ import annotations

import json
import re
import shutil

import keras
import pytest
from command_line import LABELS, ROWS, fail, invoke, run

import zoo
from keras_transformers.tasks import Task, reports
from zoo.cli import finetune


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit")
def test_finetune_pairs_with_several_labels_without_a_header(folders, table, tmp_path, served):
    rows = [{"a": "a fine film", "b": "the day", "c": "x|y"}, {"a": "a dull book", "b": "the play", "c": ""}]
    out, export = tmp_path / "out", tmp_path / "served" / "1"
    columns = ("--text", "0", "--text-pair", "1", "--label", "2", "--problem", "multi_label")
    folders_out = ("--out", out, "--export", export)
    run("finetune", folders["masked_lm"], "--train", table("pairs.tsv", rows), *columns, *folders_out)
    assert (zoo.load(out).labels, zoo.load(out).problem) == (("x", "y"), "multi_label")
    assert (export / "saved_model.pb").is_file()
    assert served == [["a fine film", "the day"]]


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit", "no_export")
def test_finetune_numbers(folders, table, tmp_path, served):
    rows = [{"text": "a fine film", "stars": 4.5}, {"text": "a dull book", "stars": 1}]
    train = table("train.jsonl", rows)
    options = ("--label", "stars", "--problem", "regression", "--out", tmp_path / "out", "--learning-rate", "0.001")
    printed = run("finetune", folders["masked_lm"], "--train", train, "--test", train, *options)
    assert "mean_absolute_error" in printed and "learning rate 0.001" in printed
    assert zoo.load(tmp_path / "out").labels == ("stars",)


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit")
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_run_that_diverges_is_told_and_not_saved(folders, table, tmp_path, served, epochs):
    """In the only step, too, whose loss is finite as it is taken before the update."""
    out = tmp_path / "out"
    options = ("--train", table("train.csv", ROWS), "--split", 0, "--learning-rate", 1e30, "--epochs", epochs)
    result = invoke("finetune", folders["masked_lm"], *options, "--out", out)
    assert result.exit_code == 2 and [*tmp_path.glob("out*")] == []
    assert "training has diverged, and nothing is saved" in result.stderr and "below 1e+30" in result.stderr


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit", "no_export")
def test_one_table_is_split_and_the_best_epoch_kept(folders, table, tmp_path, served):
    """What is printed of the epochs, the report and the saved model agree."""
    words = {"good": ("fine", "warm", "bright"), "bad": ("dull", "grey", "cold")}
    rows = [
        {"text": f"a {word} {noun}", "label": label}
        for noun in ("film", "day", "song", "book", "play")
        for label, adjectives in words.items()
        for word in adjectives
    ]
    file = tmp_path / "reports" / "report.json"
    options = ("--epochs", 3, "--learning-rate", "0.05", "--split", "0.2", "--out", tmp_path / "out")
    printed = run("finetune", folders["masked_lm"], "--train", table("my.csv", rows), *options, "--report", file)
    lines = printed.splitlines()
    assert lines[0] == f"{tmp_path / 'my.csv'}: 24 rows to train, 6 held out"
    place = next(number for number, line in enumerate(lines) if line.split()[:2] == ["epoch", "loss"])
    assert lines[place] == "   epoch     loss  held-out accuracy  held-out loss  seconds"
    epochs = [line.split() for line in lines[place + 1 : place + 4]]
    assert [epoch[0] for epoch in epochs] == ["1/3", "2/3", "3/3"]
    kept = max(range(3), key=lambda epoch: (float(epochs[epoch][2]), epoch))
    assert f"Epoch {kept + 1} of 3 was kept, the best on the 6 rows held out." in printed
    report = json.loads(file.read_text())
    assert report["accuracy"] == pytest.approx(float(epochs[kept][2]), abs=1e-4)
    assert f"  accuracy {report['accuracy']:.4f}" in lines
    assert sum(map(sum, report["confusion"]["counts"])) == 6
    assert all(scores["support"] == 3 for scores in report["classes"].values())
    assert served == [[next(row["text"] for row in rows if row["text"] == served[0][0])]]


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit", "no_export")
@pytest.mark.parametrize("count", [1, 2])
def test_tiny_tables(folders, table, tmp_path, served, count):
    rows = [{"text": text, "stars": 2.0} for text in (*LABELS, "the dull song")][:count]
    options = ("--label", "stars", "--problem", "regression", "--epochs", 1, "--out", tmp_path / "out")
    printed = run("finetune", folders["masked_lm"], "--train", table("few.csv", rows), *options)
    assert ("too few different texts to hold some out; nothing is measured" in printed) is (count == 1)
    assert ("mean_absolute_error" in printed) is (count > 1)


@pytest.mark.slow
def test_finetune_without_arguments(tmp_path):
    """The main job. Chance is 0.125; logistic regression on words reaches 0.83 (`benchmarks/encoder_tasks.py`)."""
    lines = run("finetune", "--out", tmp_path / "out").splitlines()
    (accuracy,) = [float(line.split()[1]) for line in lines if line.startswith("  accuracy")]
    assert accuracy > 0.92
    answer = json.loads(lines[-1].removeprefix("  answer"))
    assert answer["label"] == "order_status" and answer["label"] in zoo.load(tmp_path / "out").labels


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


def test_a_bad_label_is_told_with_its_row(table):
    rows = [*ROWS, {"text": "a song", "label": ""}]
    assert "row 5 (line 6): '' is no label" in fail("finetune", "--train", table("train.csv", rows))[1]
    file = table("numbers.csv", ROWS)
    assert "row 1 (line 2): 'good' is no label" in fail("finetune", "--train", file, "--problem", "regression")[1]


def test_one_class_is_not_enough(table):
    assert "at least two classes" in fail("finetune", "--train", table("train.csv", ROWS[:1]))[1]


@pytest.mark.parametrize(
    "problem, train, test, message",
    [
        (
            "single_label",
            "good bad",
            "bad so-so",
            r"row 2 \(line 3\): unknown label 'so-so'; .* are \['bad', 'good'\]",
        ),
        ("multi_label", "good|bad bad", "good bad|odd", r"test\.csv, row 2 \(line 3\): unknown label 'odd'"),
        ("regression", "1 2", "1 high", r"test\.csv, row 2 \(line 3\): 'high' is no label for the problem regression"),
        ("regression", "1 2", "1 nan", r"test\.csv, row 2 \(line 3\): 'nan' is no label for the problem regression"),
    ],
)
def test_labels_of_the_test_file_are_checked_before_the_work(table, monkeypatch, problem, train, test, message):
    monkeypatch.setattr("zoo.loading.load.load", never)
    rows = [[{"text": "a", "label": label} for label in labels.split()] for labels in (train, test)]
    files = ("--train", table("train.csv", rows[0]), "--test", table("test.csv", rows[1]))
    code, printed = fail("finetune", "mini_bert_en", *files, "--problem", problem)
    assert code == 2
    assert re.search(message, printed), printed


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:\\d+ of \\d+")
def test_what_else_is_wrong_with_the_test_file_is_told_before_the_work(folders, table, tmp_path, monkeypatch):
    monkeypatch.setattr(Task, "fit", never)
    blank = [{"text": "a fine film", "label": " "}]
    files = ("--train", table("train.csv", ROWS), "--test", table("test.csv", blank), "--label", "label")
    result = invoke("finetune", folders["seq2seq_lm"], "--task", "seq2seq_lm", *files, "--out", tmp_path / "out")
    assert (result.exit_code, "1 pairs, all with a blank side" in result.stderr) == (2, True)


@pytest.mark.parametrize("out, export", [("x", "x"), ("x", "x/1"), ("x/model", "x")])
def test_folders_in_one_another_are_refused(table, tmp_path, monkeypatch, out, export):
    monkeypatch.setattr("zoo.loading.load.load", never)
    folders = ("--out", tmp_path / out, "--export", tmp_path / export)
    assert "give separate folders" in fail("finetune", "--train", table("train.csv", ROWS), *folders)[1]


def test_the_working_directory_is_refused_before_the_work(table, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    message = fail("finetune", "--train", table("a.csv", ROWS), "--out", ".")[1]
    assert ". is the working directory, so it is not replaced" in message


@pytest.mark.integration
@pytest.mark.parametrize("name", ["evaluate", "export", "serve"])
def test_an_error_after_fit_says_where_the_model_is(command, tmp_path, monkeypatch, name):
    def broken(*_, **__):
        raise ValueError("no more")

    for step in ("fit", "export"):
        monkeypatch.setattr(Task, step, lambda *_, **__: None)
    places = {"evaluate": (reports, "measure"), "export": (Task, "export"), "serve": (finetune, "serve")}
    monkeypatch.setattr(*places[name], broken)
    result = invoke(*command)
    assert result.exit_code == 2
    assert result.stderr == f"error: no more. The model is saved in {tmp_path / 'out'}.\n"
    assert zoo.load(tmp_path / "out").labels == ("bad", "good")


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit")
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


@pytest.mark.integration
@pytest.mark.usefixtures("eager_fit")
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
