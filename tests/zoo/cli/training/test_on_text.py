"""`train --text`: from files to a folder that loads; bad input in one line; killed at any moment, the same end."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ROOT, fail, invoke, run

import zoo
from zoo.cli.train import settings_of
from zoo.scratch import round_log, run_plan

pytestmark = pytest.mark.usefixtures("quick_speed")

MESSAGES = ROOT / "zoo" / "bundled" / "sample_messages" / "train.csv"
SMALL = ("--layers", "1", "--heads", "2", "--hidden-dim", "32", "--max-length", "32", "--batch-size", "4")
SHORT = ("--steps", "6", "--rounds", "2")


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "messages.txt"
    path.write_text(MESSAGES.read_text(encoding="utf-8")[:20_000], encoding="utf-8")
    return path


def train(text, out, *options, model: str = "gpt2") -> str:
    return run("train", "--text", text, "--model", model, *SMALL, *SHORT, *options, "--out", out)


@pytest.mark.integration
def test_a_decoder_from_text_to_its_next_command(text, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()  # an empty folder that is there is written
    printed = train(text, out)
    assert "GB of main memory in all" in printed
    assert "gpt2: 1 layers of 32, 2 heads" in printed and "6 steps of 4 x 32 tokens" in printed
    results = json.loads(printed.splitlines()[-1])
    assert results["loss (nats a character)"] < results["loss (nats a token)"]
    task = zoo.load(out)
    assert task.name == "causal_lm" and task.config.max_length == 32
    assert f"python -m zoo generate {out}" in printed and run("generate", out, "Where is", "--max-new-tokens", "4")

    card = (out / "README.md").read_text(encoding="utf-8")
    assert f"messages.txt | {text.stat().st_size:,} | `{hashlib.sha256(text.read_bytes()).hexdigest()}`" in card
    rows = [json.loads(line) for line in (out / "training/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [3, 6]
    assert "<svg" in (out / "training/curve.html").read_text() and (out / "training/samples.txt").is_file()
    assert not (tmp_path / "mine.run/states").exists()

    repeated = train(text, out)  # the same once more trains nothing, and changes nothing
    assert "has ended" in repeated and "measure" not in repeated
    assert (out / "README.md").read_text(encoding="utf-8") == card
    assert "has ended" not in train(text, out, "--seed", "2")  # what is asked is not what was made
    task.model.weights[0].assign(task.model.weights[0] * 2)  # as fine-tuning in place does
    task.save(out)
    code, error = fail("train", "--text", text, "--model", "gpt2", *SMALL, *SHORT, "--seed", "2", "--out", out)
    assert code == 2 and "has another model than the run in" in error


@pytest.mark.integration
def test_an_encoder_fills_masks(text, tmp_path):
    train(text, tmp_path / "mine", model="bert")
    answer = json.loads(run("predict", tmp_path / "mine", "Where is my [MASK]?"))
    assert len(answer["fills"]) == 1 and zoo.load(tmp_path / "mine").name == "masked_lm"


@pytest.mark.integration
@pytest.mark.usefixtures("eager")
def test_tokens_of_files_and_standard_input_are_the_same(text, tmp_path):
    """Compressed, from a pipe, in JSON lines: the same characters give the same weights."""
    content = text.read_text(encoding="utf-8")
    (tmp_path / "messages.jsonl").write_text(json.dumps({"body": content}) + "\n", encoding="utf-8")
    with gzip.open(tmp_path / "messages.txt.gz", "wt", encoding="utf-8") as file:
        file.write(content)
    options = ("--tokenizer", "bytes", *SMALL, *SHORT, "--seed", "3")
    for name, field in (("messages.txt.gz", ()), ("messages.jsonl", ("--field", "body"))):
        run("train", "--text", tmp_path / name, *field, *options, "--out", tmp_path / name.split(".")[-1])
    run("train", "--text", "-", *options, "--out", tmp_path / "stdin", stdin=content)
    weights = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in ("gz", "jsonl", "stdin")}
    assert weights["gz"] == weights["stdin"]
    assert (tmp_path / "stdin.run/stdin.txt").read_text(encoding="utf-8") == content
    task = zoo.load(tmp_path / "jsonl")
    ids = task.tokenizer.encode(["Größe 東京 \t "], special_tokens=False)[0].ids
    assert task.tokenizer.decode(ids) == "Größe 東京 \t "


BAD = {
    "name": (["mini_bert_en"], "received --text, and NAME of a recipe, mini_bert_en: give one of them"),
    "heads": (["--hidden-dim", "32", "--layers", "1", "--heads", "3"], "--heads 3 do not divide --hidden-dim 32"),
    "size": (["--size", "huge"], "--size must be one of tiny, mini"),
    "layers alone": (["--layers", "3"], "--heads, --hidden-dim is missing"),
    "model": (["--model", "gpt5"], "--model must be one of gpt2, llama"),
    "tokenizer": (["--tokenizer", "words"], "--tokenizer must be one of byte_pair"),
    "two lengths": (["--hours", "1", "--steps", "2"], "--hours and --steps both set the length of the training"),
    "share": (["--held-out", "1.5"], "--held-out must be a share from 0 to below 1"),
    "nothing held out": (["--held-out", "0"], "--held-out 0 leaves nothing to measure on"),
    "dtype": (["--dtype", "float33"], "--dtype must be a Keras dtype policy of floats"),
    "missing": (["--text", "{folder}/none.txt"], "none.txt"),
    "no match": (["--text", "{folder}/*.none"], "*.none"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_told_before_any_work(text, tmp_path, case):
    options, message = BAD[case]
    options = [option.format(folder=tmp_path) for option in options]
    code, error = fail("train", "--text", text, *options, "--out", tmp_path / "mine")
    assert code == 2 and message in error, error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["messages.txt"]


def test_an_empty_file_and_empty_standard_input(tmp_path):
    (tmp_path / "empty.txt").touch()
    _, error = fail("train", "--text", tmp_path / "empty.txt", "--out", tmp_path / "mine")
    assert "empty.txt" in error
    result = invoke("train", "--text", "-", "--out", tmp_path / "mine", input="")
    assert result.exit_code == 2 and "standard input is empty" in result.stderr


def test_another_encoding_is_told_with_its_file_and_line(tmp_path):
    path = tmp_path / "alt.txt"
    path.write_bytes("Ein Satz.\nZürich.\n".encode("latin-1"))
    result = invoke("train", "--text", path, *SMALL, "--out", tmp_path / "mine")
    assert result.exit_code == 2 and str(path) in result.stderr and "line 2" in result.stderr
    assert "latin-1" in result.stderr or "encoding" in result.stderr


def test_json_lines_without_the_field(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a fine film"}\n{"body": "a dull film"}\n' * 40, encoding="utf-8")
    for field, line in {"moves": 1, "body": 1, "text": 2}.items():
        result = invoke("train", "--text", path, "--field", field, *SMALL, "--out", tmp_path / "mine")
        assert result.exit_code == 2 and f"line {line}" in result.stderr and field in result.stderr


def test_a_corpus_smaller_than_a_batch(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("To be, or not to be.\n" * 20, encoding="utf-8")
    result = invoke("train", "--text", path, "--tokenizer", "bytes", "--out", tmp_path / "mine")
    assert result.exit_code == 2 and "the text has 420 bytes: expected at least the 4,096 tokens" in result.stderr
    assert "--max-length" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["short.txt"]
    path.write_text("To be, or not to be.\n" * 250, encoding="utf-8")  # of few tokens
    result = invoke("train", "--text", path, "--out", tmp_path / "mine")
    assert result.exit_code == 2 and "expected at least a batch of 16" in result.stderr


def test_what_is_no_model_is_not_replaced(text, tmp_path):
    """A folder of the user, or a card that somebody has edited: told before the text is read."""
    out = tmp_path / "mine"
    out.mkdir()
    (out / "notes.md").write_text("mine")
    assert "so it is not replaced" in fail("train", "--text", text, "--out", out)[1]
    (out / "notes.md").unlink()
    (out / "config.json").write_text('{"model_type": "gpt2"}')
    (out / "README.md").write_text("# Written by hand")
    _, error = fail("train", "--text", text, "--out", out)
    assert "'README.md'" in error and (out / "README.md").read_text() == "# Written by hand"
    assert not (tmp_path / "mine.run").exists()


def test_options_become_settings():
    asked = {"text": ["a.txt"], "out": Path("runs/mine"), "hours": 2.0, "name": None, "start": None, "add_tokens": None}
    settings = settings_of(asked | {"batch_size": 8, "model": None, "validation": None})
    assert (settings.text, settings.model, settings.hours, settings.batch_size) == (("a.txt",), "gpt2", 2.0, 8)
    assert settings.validation == () and settings.held_out == 0.05


def command(out: str) -> list[str]:
    # Steps that are too large for XLA to compile them, which would take most of the time.
    sizes = "--layers 1 --heads 2 --hidden-dim 256 --max-length 64 --batch-size 16 --steps 18 --rounds 6"
    files = "--text long.txt --validation short.txt --tokenizer bytes --dtype float32"
    return [sys.executable, "-m", "zoo", "train", *files.split(), *sizes.split(), "--out", out]


def started(folder: Path, out: str) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command(out), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def ended(folder: Path, out: str) -> str:
    process = started(folder, out)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    return printed


def killed(folder: Path, begin: str, is_time: Callable[[], bool]) -> None:
    """Kill a run -9 at a moment after it has printed a line that begins so."""
    process = started(folder, "killed")
    read = ""
    while not read.endswith(begin):
        letter = process.stdout.read(1)
        assert letter, read
        read += letter
    while not is_time() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, read
    process.stdout.close()


@pytest.mark.integration
@pytest.mark.usefixtures("eager")
def test_a_run_that_breaks_off_ends_with_equal_weights(text, tmp_path, monkeypatch):
    """In its fifth step, with a state after each; the next test kills processes, at other moments, too."""
    train(text, tmp_path / "whole")
    monkeypatch.setattr(run_plan, "STATE_SECONDS", 1e-6)
    end, steps = round_log.RoundLog.on_train_batch_end, []

    def breaks_off(log, batch, logs=None):
        steps.append(batch)
        if len(steps) == 5:
            raise RuntimeError("the fifth step")
        end(log, batch, logs)

    monkeypatch.setattr(round_log.RoundLog, "on_train_batch_end", breaks_off)
    command = ("train", "--text", text, "--model", "gpt2", *SMALL, *SHORT, "--out", tmp_path / "broken")
    assert invoke(*command).exit_code and len(steps) == 5 and not (tmp_path / "broken").exists()
    printed = train(text, tmp_path / "broken")
    assert len(steps) < 5 + 6 and "measure the speed" not in printed
    whole, again = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "broken"))
    assert whole == again and not (tmp_path / "broken.run/states").exists()
    metrics = (tmp_path / "broken.run/metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in metrics] == [3, 6]


@pytest.mark.slow
def test_a_run_killed_at_three_moments_ends_with_equal_weights(tmp_path):
    """While it makes tokens, trains, and saves; each time the same command goes on where it was."""
    text = MESSAGES.read_text(encoding="utf-8")
    (tmp_path / "long.txt").write_text("\n".join([text] * (9_000_000 // len(text))), encoding="utf-8")
    (tmp_path / "short.txt").write_text(text[:4_000], encoding="utf-8")
    tokens, metrics = tmp_path / "killed.run/tokens", tmp_path / "killed.run/metrics.jsonl"
    killed(tmp_path, "tokenize\n", (tokens / "journal.json").is_file)
    assert not (tokens / "corpus.json").exists()
    killed(tmp_path, "tokens/s\n", lambda: metrics.is_file() and len(metrics.read_text().splitlines()) >= 2)
    assert not (tmp_path / "killed").exists()
    killed(tmp_path, "save killed", lambda: any(tmp_path.glob(".killed.*/*")))
    assert not (tmp_path / "killed").exists() and (tmp_path / "killed.run/states").is_dir()

    printed = ended(tmp_path, "killed")
    ended(tmp_path, "whole")
    whole, again = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "killed"))
    assert whole == again and "measure the speed" not in printed
    assert len(metrics.read_text().splitlines()) == 6 and not list(tmp_path.glob(".killed.*"))
    assert not (tmp_path / "killed.run/states").exists()
