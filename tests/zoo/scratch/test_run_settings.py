"""What a user asks of a run is checked before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.scratch.pairs.pair_settings import PairSettings
from zoo.scratch.run_settings import FurtherSettings, RunSettings, command_of, differences

ASKED = {"model": "gpt2", "text": ("a.txt",), "out": Path("runs/mine")}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "gpt5"}, "--model must be one of"),
        ({"size": "huge"}, "--size must be one of"),
        ({"heads": 3, "size": "mini"}, "--heads 3 do not divide"),
        ({"hours": 1.0, "steps": 3}, "--hours and --steps both set the length"),
        ({"hours": 0.0}, "--hours must be a number above 0: received 0.0"),
        ({"epochs": float("nan")}, "--epochs must be a number above 0"),
        ({"learning_rate": -1.0}, "--learning-rate must be a number above 0"),
        ({"weight_decay": -0.1}, "--weight-decay must be a number from 0 on: received -0.1"),
        ({"weight_decay": float("nan")}, "--weight-decay must be a number from 0 on"),
        ({"steps": 0}, "--steps must be at least 1"),
        ({"batch_size": 0}, "--batch-size must be at least 1"),
        ({"max_length": 4}, "--max-length must be at least 8"),
        ({"dropout": 1.0}, "--dropout must be a share"),
        ({"held_out": 0.0}, "--held-out 0 leaves nothing to measure on"),
        ({"held_out": 0.6}, "--held-out must be at most 0.5, half of the text: received 0.6"),
        ({"dtype": "float33"}, "--dtype must be a Keras dtype policy of floats, such as .*: received 'float33'"),
        ({"dtype": "int8_from_float32"}, "--dtype must be"),
        ({"dtype": "int32"}, "--dtype must be"),
        ({"dtype": ""}, "--dtype must be"),
        ({"tokenizer": "bpe"}, "--tokenizer must be one of"),
        ({"tokenizer": "bytes", "vocabulary": 100}, "--vocabulary is the size of a learned vocabulary"),
    ],
)
def test_bad_settings(given, message):
    with pytest.raises(ValueError, match=message):
        RunSettings(**ASKED | given)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "mixed_bfloat16", "mixed_float16"])
def test_dtypes_to_train_in(dtype):
    assert RunSettings(**ASKED, dtype=dtype).dtype == dtype


def test_the_run_is_kept_beside_the_model(tmp_path):
    assert RunSettings(**ASKED | {"out": tmp_path / "mine"}).run_folder == tmp_path / "mine.run"


def test_what_differs_between_two_runs():
    one, other = (RunSettings(**ASKED, steps=steps, prompt=prompt) for steps, prompt in ((3, "a"), (4, "b")))
    assert differences(one.identity(), one.identity()) == []
    assert differences(other.identity(), one.identity()) == ["--steps 4 (was 3)"]


def test_an_encoding_of_an_older_run_may_have_another_name():
    """The command line gives Python's name of it, and gave the user's."""
    now = RunSettings(**ASKED, encoding="iso8859-1").identity()
    assert differences(now, now | {"encoding": "latin-1"}) == []
    for other in ("cp1252", "none", 1):
        assert differences(now, now | {"encoding": other}) == [f"--encoding iso8859-1 (was {other})"]


def test_the_command_of_settings():
    settings = RunSettings("bert", ("a b.txt", "c.txt"), Path("runs/mine"), steps=7, lowercase=True)
    assert command_of(settings) == (
        "train --model bert --text 'a b.txt' --text c.txt --out runs/mine --lowercase --steps 7"
    )


KEPT = [
    "batch_size", "dropout", "dtype", "encoding", "epochs", "errors", "field", "heads", "held_out", "hidden_dim",
    "hours", "layers", "learning_rate", "lines", "lowercase", "max_length", "model", "patience", "rounds", "seed",
    "size", "steps", "text", "tokenizer", "validation", "vocabulary", "weight_decay",
]  # fmt: skip
OF_PAIRS = [
    "source", "target", "pairs", "source_column", "target_column", "validation_source", "validation_target",
    "decoder_layers", "batch_tokens", "schedule", "warmup_steps", "joined",
]  # fmt: skip


def test_the_names_that_plans_keep():
    """Interrupted runs resume by them: a name that is gone would make them other runs."""
    assert sorted(RunSettings(**ASKED).identity()) == KEPT
    further = FurtherSettings(start="gpt_mini_en", **ASKED).identity()
    assert sorted(further.keys() - set(KEPT)) == ["add_tokens", "start"] and further.keys() >= set(KEPT)
    pairs = PairSettings(source="a.en", target="a.de", **ASKED | {"model": "t5", "text": ()}).identity()
    assert sorted(pairs) == sorted(KEPT + OF_PAIRS)
