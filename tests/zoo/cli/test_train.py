"""`train`: the recipe of a model's file, and the state of its run."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from command_line import fail, invoke, run

import zoo
from zoo.cli.training import recipe_settings
from zoo.registry.entry import module
from zoo.registry.recipe import remove_state, state_folder


def test_train_calls_the_recipe_with_what_was_given(monkeypatch, tmp_path):
    calls = []

    def recipe(data, folder, epochs=4, verbose=1):
        calls.append((data, folder, epochs))
        return {"accuracy": 0.5}

    monkeypatch.setattr(recipe_settings, "module", lambda name: SimpleNamespace(train=recipe))
    arguments = ("train", "mini_bert_en", "--data", tmp_path, "--out", tmp_path / "out")
    assert json.loads(run(*arguments, "--epochs", "2").splitlines()[-1]) == {"accuracy": 0.5}
    assert calls == [(tmp_path, tmp_path / "out", 2)]
    assert "no options ['seed']" in fail(*arguments, "--seed", "3")[1]


@pytest.mark.parametrize("epochs", ["0.4", "0", "-1", "nan", "inf"])
def test_a_recipe_takes_one_epoch_or_more(tmp_path, epochs):
    arguments = ("train", "mini_bert_en", "--data", tmp_path, "--out", tmp_path / "out", f"--epochs={epochs}")
    assert "--epochs of a recipe must be a whole number, at least 1: received" in fail(*arguments)[1]


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

    monkeypatch.setattr(recipe_settings, "module", lambda name: SimpleNamespace(train=recipe))
    arguments = ("train", "mini_bert_en", "--data", tmp_path, "--out", out)
    error = ValueError("there is no valid.txt")
    assert invoke(*arguments).exit_code == 2 and all((state / name).exists() for name in files)
    error = KeyboardInterrupt()
    result = invoke(*arguments)
    assert (result.exit_code, f"repeat the command to resume from the last state in {state}" in result.stdout) == (
        130,
        True,
    )
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


@pytest.mark.parametrize("name", [name for name in zoo.names() if hasattr(module(name), "train")])
def test_a_folder_without_the_data_is_told_what_it_must_hold(tmp_path, name):
    """Every recipe says which files it reads, before it makes anything."""
    files = module(name).FILES
    present = files[0] if files[1:] else "other.txt"
    (tmp_path / present).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / present).touch()
    _, message = fail("train", name, "--data", tmp_path, "--out", tmp_path / "out")
    missing = ", ".join(file for file in files if file != present)
    assert f"holds no {missing}, which the recipe of {name} reads. `DATA" in message
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.resume").exists()
