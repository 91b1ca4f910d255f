"""What a user asks of a run on pairs is checked before any work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zoo.scratch.kept_plan import PLAN, KeptPlan
from zoo.scratch.pairs.pair_settings import PairSettings
from zoo.scratch.run_plan import Candidate, make_plan
from zoo.scratch.run_settings import RunSettings

ASKED = {"model": "transformer", "text": (), "out": Path("runs/mine")}
FILES = {"source": "a.en", "target": "a.de"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "there are no pairs: give --source FILE and --target FILE, or --pairs TABLE"),
        ({"source": "a.en"}, "received --source without --target"),
        ({"target": "a.en"}, "received --target without --source"),
        (FILES | {"pairs": "a.tsv"}, "a table or two files"),
        (FILES | {"text": ("a.txt",)}, "received pairs, and text"),
        (FILES | {"validation": ("a.txt",)}, "--validation-source"),
        (FILES | {"validation_source": "b.en"}, "received --validation-source without --validation-target"),
        (FILES | {"batch_size": 8}, "received pairs, and --batch-size, for training on --text: leave it out"),
        (FILES | {"field": "body", "prompt": "Hello"}, "received pairs, and --field, --prompt, for training on --text"),
        (FILES | {"source_column": "en"}, "no --pairs TABLE"),
        (
            FILES | {"model": "gpt2"},
            "--model gpt2 does not translate texts into texts: expected one of transformer, t5",
        ),
        (FILES | {"model": "gpt5"}, "--model must be one of"),
        (FILES | {"schedule": "linear"}, "--schedule must be one of inverse_sqrt, cosine"),
        (FILES | {"decoder_layers": 0}, "--decoder-layers must be at least 1"),
        (
            FILES | {"batch_tokens": 64, "max_length": 128},
            "--batch-tokens must be at least 128, the value of --max-length",
        ),
        (FILES | {"joined": 0.6}, "--joined must be a share from 0 to 0.5"),
        (FILES | {"held_out": 0.0}, "--held-out 0 leaves nothing to measure on"),
        (FILES | {"size": "mini", "heads": 3}, "--heads 3 do not divide"),
    ],
)
def test_bad_settings(given, message):
    with pytest.raises(ValueError, match=message):
        PairSettings(**ASKED | given)


def test_a_run_of_an_older_version_goes_on(tmp_path):
    """It ignored `--batch-size` and `--field`, and kept them."""
    keeper = KeptPlan(PairSettings(**ASKED | FILES | {"out": tmp_path / "mine"}))
    plan = make_plan(keeper.settings, Candidate((1, 2, 16), 1_000, 0.1), 100, 10, 64)
    keeper.folder.mkdir()
    keeper.write(plan, [])
    values = json.loads((keeper.folder / PLAN).read_text())
    values["settings"] |= {"batch_size": 8, "field": "body"}
    (keeper.folder / PLAN).write_text(json.dumps(values))
    assert keeper.read([]) == plan
    values["settings"]["batch_tokens"] = 8
    (keeper.folder / PLAN).write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"in .*mine.run: --batch-tokens 4096 \(was 8\)\."):
        keeper.read([])


def test_a_translator_needs_pairs():
    with pytest.raises(ValueError, match=r"learns from pairs: received --text\. Give --source FILE"):
        RunSettings(model="transformer", text=("a.txt",), out=Path("runs/mine"))


def test_files_to_measure_on_need_no_share():
    files = FILES | {"validation_source": "b.en", "validation_target": "b.de"}
    assert PairSettings(**ASKED | files | {"held_out": 0.0}).has_validation
    assert list(PairSettings(**ASKED | files).paths.values()) == ["a.en", "a.de", "b.en", "b.de"]
