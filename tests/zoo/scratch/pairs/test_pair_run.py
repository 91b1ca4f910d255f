"""A run on pairs, from two files to a folder that translates; killed, it goes on as if nothing had been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import rule_pairs

import zoo
from keras_transformers.training.metrics import text_scores
from zoo.scratch.pairs.pair_run import PairRun
from zoo.scratch.pairs.pair_settings import PairSettings
from zoo.scratch.pairs.pair_table import left_out, plan_facts, warnings_of
from zoo.scratch.pairs.translation_scores import bleu_signature, score_names
from zoo.scratch.run_plan import Candidate, make_plan

pytestmark = pytest.mark.usefixtures("quick_speed")

SIZES = {"layers": 1, "heads": 2, "hidden_dim": 32, "max_length": 32, "vocabulary": 150}


def a_run(tmp_path, number=300, **options) -> PairRun:
    source, target = rule_pairs.write(tmp_path, number)
    files = {"source": str(source), "target": str(target)}
    return PairRun(PairSettings(**{"model": "transformer", "text": (), "out": tmp_path / "mine"} | files | options))


def a_plan(run: PairRun, steps: int = 8):
    return make_plan(run.settings, Candidate((1, 2, 32), 9_000, 0.1), 100, 20, 256)


def test_the_table_tells_pairs_and_lengths(tmp_path):
    run = a_run(tmp_path, vocabulary=150)
    facts = plan_facts(run, a_plan(run))
    rows = run.encoded[0].rows.num_rows, run.encoded[1].rows.num_rows
    assert sum(rows) == 300 and f"300: {rows[0]} to learn from, {rows[1]} held out" in facts["pairs"]
    assert facts["left out"] == "none" and "1 + 1 layers of 32" in facts["model"]
    assert facts["vocabulary"] == f"{run.tokenizer.vocabulary_size} tokens for both sides"


def test_a_vocabulary_is_learned_from_the_training_side_once(tmp_path):
    run = a_run(tmp_path)
    size = run.tokenizer.vocabulary_size
    kept = (tmp_path / "mine.run/tokenizer/learned.json").read_text()
    assert size <= 300 and json.loads(kept)["held_out"] == 0.05
    assert a_run(tmp_path).tokenizer.to_json() == run.tokenizer.to_json()
    assert set(run.files) == {*run.choice.train.sources, *run.choice.train.targets}


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (lambda english, german: (english, ["", *german[1:]]), "the first where {german}, line 1 is empty"),
        (lambda english, german: (english, english), "of the targets are their sources"),
        (lambda english, german: (english * 2, german * 2), "of the pairs repeat others"),
        (
            lambda english, german: (english, [f"{text} " * 3 for text in german]),
            "times as many tokens as the other side",
        ),
        (lambda english, german: (english, ["Hallo!"] * len(german)), "are also targets to learn from"),
        (lambda english, german: (english[:30], german[:30]), "are few to measure on"),
    ],
)
def test_what_may_go_wrong_is_told(tmp_path, change, warning):
    run = a_run(tmp_path)
    paths = [Path(path) for path in run.settings.paths.values()]
    for path, texts in zip(paths, change(*rule_pairs.sentences(300)), strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    run = PairRun(run.settings)
    assert warning.format(german=paths[1]) in " ".join(warnings_of(run, a_plan(run)))


def test_pairs_left_out_are_counted(tmp_path):
    source, target = rule_pairs.write(tmp_path, 100)
    source.write_text(source.read_text() + "\nHello\n" + "Two cats " * 40 + "\n")
    target.write_text(target.read_text() + "\n\nZwei\n")
    files = {"source": str(source), "target": str(target)}
    run = PairRun(PairSettings(model="transformer", text=(), out=tmp_path / "mine", max_length=32, **files))
    assert left_out(run) == "1 without text, 1 with text on one side only, 1 of more than 32 tokens"


def test_files_to_measure_on(tmp_path):
    source, target = rule_pairs.write(tmp_path, 40)
    options = {"validation_source": str(source), "validation_target": str(target)}
    (tmp_path / "more").mkdir()
    run = a_run(tmp_path / "more", **options)
    assert (len(run.choice.train.sources), run.left_for_validation) == (260, 40)
    with pytest.raises(ValueError, match="every source is one of the files of --validation-source"):
        a_run(tmp_path, number=40, **{name: str(path) for name, path in _copies(source, target, tmp_path).items()})


def _copies(source, target, folder):
    for path in (source, target):
        (folder / f"v{path.name}").write_text(path.read_text())
    return {"validation_source": folder / f"v{source.name}", "validation_target": folder / f"v{target.name}"}


def test_without_sacrebleu_exact_match_is_left_and_what_to_install_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError):
        text_scores.import_sacrebleu()
    assert score_names() == ("exact_match",)
    assert 'pip install "keras_transformers[eval]"' in bleu_signature()


@pytest.mark.parametrize(("lowercase", "case"), [(True, "case:lc"), (False, "case:mixed")])
def test_references_have_capitals_only_if_translations_can(tmp_path, lowercase, case):
    run = a_run(tmp_path, lowercase=lowercase)
    texts = run.sampled().targets
    assert texts and all(text == text.lower() for text in texts) == lowercase == run.lowercases
    scores = plan_facts(run, a_plan(run))["scores"]
    assert case in scores
    assert not a_run(tmp_path, tokenizer="bytes", vocabulary=None).lowercases


@pytest.mark.integration
@pytest.mark.parametrize(("model", "kind"), [("transformer", "unigram"), ("t5", "bytes")])
def test_a_translator_from_two_files(tmp_path, capsys, model, kind):
    """It learns the rules: held-out sentences, too."""
    source, target = rule_pairs.write(tmp_path, 400)
    sizes = {name: value for name, value in SIZES.items() if name != "vocabulary" or kind != "bytes"}
    sizes |= {"hidden_dim": 64, "max_length": 64}
    out = tmp_path / "mine"
    steps, number = (400, 5) if kind == "unigram" else (30, 2)
    options = {"steps": steps, "rounds": number, "batch_tokens": 1024, "dropout": 0.0}
    options |= {"learning_rate": 3e-3, "tokenizer": kind, "held_out": 0.1, "dtype": "float32"}
    task = zoo.new(model, source=source, target=target, out=out, **sizes, **options)
    rounds = [json.loads(line) for line in (tmp_path / "mine.run/metrics.jsonl").read_text().splitlines()]
    assert len(rounds) == number and rounds[-1]["held_out_loss"] < rounds[0]["held_out_loss"]
    english, german = rule_pairs.sentences(3)
    again = zoo.load(out)
    assert again.generate(english, verbose=0) == task.generate(english, verbose=0)
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "| bleu |" in card and "tok:13a" in card and "rule.en" in card
    printed = capsys.readouterr().out
    assert "held-out perplexity" in printed and f"python -m zoo generate {out}" in printed and "(reference: " in printed
    if kind == "unigram":
        assert rounds[-1]["bleu"] > 60 and again.generate(english, verbose=0) == german
        with pytest.raises(ValueError, match="steps"):
            zoo.new(model, source=source, target=target, out=out, steps=0)
        zoo.new(model, source=source, target=target, out=out, **sizes, **options)
        assert "which has ended" in capsys.readouterr().out


def test_what_new_refuses(tmp_path):
    with pytest.raises(ValueError, match="give out"):
        zoo.new("transformer", source="a.en", target="a.de")
    with pytest.raises(ValueError, match="nothing to learn from"):
        zoo.new("transformer", out=tmp_path / "mine")
    with pytest.raises(ValueError, match=r"no options \['beams'\]"):
        zoo.new("transformer", source="a.en", target="a.de", out=tmp_path / "mine", beams=3)
    with pytest.raises(ValueError, match="there is no such file"):
        zoo.new("transformer", source=tmp_path / "a.en", target=tmp_path / "a.de", out=tmp_path / "mine")


@pytest.mark.slow
def test_a_killed_run_goes_on_to_equal_weights(tmp_path):
    """Killed twice in training, the same command ends with the weights of a run that nobody has killed."""
    source, target = rule_pairs.write(tmp_path, 300)
    command = [sys.executable, "-m", "zoo", "train", "--source", str(source), "--target", str(target)]
    sizes = {**SIZES, "steps": 60, "rounds": 6, "batch_tokens": 512}
    command += [text for name, value in sizes.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    root = str(Path(zoo.__file__).resolve().parents[1])
    options = {"env": os.environ | {"PYTHONPATH": root}, "cwd": tmp_path}
    subprocess.run([*command, "--out", "whole"], check=True, capture_output=True, **options)
    for rounds in (1, 3):
        _kill_after([*command, "--out", "killed"], tmp_path / "killed.run/metrics.jsonl", rounds, options)
        assert not (tmp_path / "killed").exists()
    subprocess.run([*command, "--out", "killed"], check=True, capture_output=True, **options)
    whole, killed = (zoo.load(tmp_path / name).model.get_weights() for name in ("whole", "killed"))
    for one, other in zip(whole, killed, strict=True):
        np.testing.assert_array_equal(one, other)
    rows = [json.loads(line) for line in (tmp_path / "killed.run/metrics.jsonl").read_text().splitlines()]
    assert [row["round"] for row in rows] == [1, 2, 3, 4, 5, 6]


def _kill_after(command, metrics, rounds, options) -> None:
    """Kill a command once its figures have so many rounds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    deadline = time.time() + 240
    while time.time() < deadline and process.poll() is None:
        if metrics.is_file() and len(metrics.read_text().splitlines()) >= rounds:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
