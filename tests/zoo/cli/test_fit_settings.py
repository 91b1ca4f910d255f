"""How long and how fast `finetune` learns where nobody says."""

from __future__ import annotations

import inspect

import pytest

from keras_transformers.tasks import Task
from zoo.cli.fit_settings import USUAL, epochs_for, fit_options, settings_text

GIVEN = {"epochs": None, "learning_rate": None, "batch_size": 32, "seed": 0, "resume": None}


@pytest.mark.parametrize(
    ("rows", "epochs"), [(1, 20), (135, 19), (150, 18), (480, 10), (1_000, 7), (4_000, 3), (10**6, 3)]
)
def test_epochs_follow_from_the_rows(rows, epochs):
    assert epochs_for(rows) == epochs


def test_the_models_own_settings():
    """Those of the README's first command, 480 rows, are those in the model's file."""
    found = fit_options("minilm_mini_en", GIVEN, 480)
    assert found == {"epochs": 10, "learning_rate": 3e-4, "batch_size": 32, "seed": 0}
    assert fit_options("mini_bert_en", GIVEN, 480)["epochs"] == 12
    assert fit_options("some/folder", GIVEN, 480) == {**found, "learning_rate": 5e-5}
    assert fit_options("some/folder", GIVEN | {"epochs": 2, "learning_rate": 1.0}, 480) == {
        **found, "epochs": 2, "learning_rate": 1.0,
    }  # fmt: skip


def test_what_learns_to_write_has_the_epochs_of_fit():
    assert fit_options("gpt_mini_en", GIVEN, 10, writes_text=True)["epochs"] == USUAL["epochs"]
    usual = inspect.signature(Task.fit).parameters
    assert {name: usual[name].default for name in USUAL} == USUAL


def test_what_is_said():
    fit = {"epochs": 19, "learning_rate": 3e-4, "batch_size": 32, "seed": 0}
    lines = settings_text(fit, GIVEN, 135).splitlines()
    assert lines[0] == "fit 135 texts: 19 epochs, learning rate 0.0003, batches of 32, seed 0"
    assert lines[1] == "  chosen for 135 texts; change this with --epochs and --learning-rate"
    assert "; change this with --learning-rate" in settings_text(fit, GIVEN | {"epochs": 19}, 135)
    assert "chosen" not in settings_text(fit, GIVEN | {"epochs": 1, "learning_rate": 1.0}, 135)
