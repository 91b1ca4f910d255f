"""`train --source --target` and `train --pairs`: bad input is one line, before any work."""

from __future__ import annotations

import json

import pytest
import rule_pairs
from command_line import fail, run

from zoo.cli.train import settings_of

pytestmark = pytest.mark.usefixtures("quick_speed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "{source}"], "received --source without --target: give both"),
        (["--source", "{source}", "--target", "{source}"], "is both source and target"),
        (["--source", "{source}", "--target", "{source}.none"], "there is no such file"),
        (["--source", "{source}", "--target", "{target}", "--pairs", "{source}"], "give a table or two files"),
        (["--source", "{source}", "--target", "{target}", "--text", "{source}"], "give either pairs or --text"),
        (["--source", "{source}", "--target", "{target}", "--model", "bert"], "--model bert does not translate texts"),
        (["--source", "{source}", "--target", "{target}", "--size", "mini", "--heads", "3"], "--heads 3 do not divide"),
        (["--source", "{source}", "--target", "{target}", "--data", "{folder}"], "give one of them"),
        (
            ["--source", "{source}", "--target", "{target}", "--hours", "1", "--steps", "3"],
            "both set the length of the training",
        ),
        (["--pairs", "{source}"], "line 1: no column 1, counted from 0: 1 texts separated by tabs"),
        (["--pairs", "{source}", "--source-column", "en"], "expected a file named .csv, .tsv, .jsonl"),
        (["--text", "{source}", "--model", "transformer"], "--model transformer learns from pairs: received --text"),
    ],
)
def test_bad_input(tmp_path, options, message):
    source, target = rule_pairs.write(tmp_path, 20)
    given = [option.format(source=source, target=target, folder=tmp_path) for option in options]
    code, error = fail("train", *given, "--out", tmp_path / "mine")
    assert code == 2 and message in error
    assert not (tmp_path / "mine").exists()


def test_unlike_numbers_of_lines(tmp_path):
    source, target = rule_pairs.write(tmp_path, 20)
    target.write_text(target.read_text() + "Noch eine Zeile.\n")
    _, error = fail("train", "--source", source, "--target", target, "--out", tmp_path / "mine")
    assert f"{source} has 20 lines and {target} has 21" in error and "its last, 21, is 'Noch eine Zeile.'" in error


def test_a_folder_that_holds_something_else_is_not_replaced(tmp_path):
    source, target = rule_pairs.write(tmp_path, 20)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.md").touch()
    _, error = fail("train", "--source", source, "--target", target, "--out", tmp_path / "mine")
    assert str(tmp_path / "mine") in error


def test_options_become_settings():
    asked = {"source": "a.en", "target": "a.de", "out": "runs/mine", "text": None, "hours": None, "prompt": None}
    settings = settings_of(asked | {"batch_tokens": 1024, "decoder_layers": 2, "name": None})
    assert (settings.model, settings.batch_tokens, settings.decoder_layers) == ("transformer", 1024, 2)
    assert (settings.weight_decay, settings.schedule, settings.text) == (0.01, "inverse_sqrt", ())


@pytest.mark.integration
def test_a_table_becomes_a_translator(tmp_path):
    english, german = rule_pairs.sentences(200)
    lines = [json.dumps({"en": one, "de": other}) for one, other in zip(english, german, strict=True)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    columns = ("--source-column", "en", "--target-column", "de")
    sizes = (
        "--layers",
        2,
        "--decoder-layers",
        1,
        "--heads",
        2,
        "--hidden-dim",
        32,
        "--max-length",
        32,
        "--vocabulary",
        120,
    )
    training = ("--steps", 12, "--rounds", 2, "--batch-tokens", 512, "--schedule", "cosine", "--joined", 0.2)
    out = tmp_path / "mine"
    printed = run("train", "--pairs", tmp_path / "pairs.jsonl", *columns, *sizes, *training, "--out", out)
    assert "2 + 1 layers of 32" in printed and "cosine" in printed
    results = json.loads(printed.splitlines()[-1])
    assert {"perplexity", "bleu", "chrf", "exact_match"} <= results.keys()
    assert (out / "training/metrics.jsonl").is_file() and run("generate", out, english[0]).strip() is not None
