from __future__ import annotations

from pathlib import Path

import pytest

from zoo.loading.place import stands_for


@pytest.fixture
def run(tmp_path):
    for step in (3, 7):
        for ending in ("index", "data-00000-of-00001", "meta"):
            (tmp_path / f"model.ckpt-{step}.{ending}").write_bytes(b"")
    return tmp_path


def test_the_prefix_of_a_checkpoint_is_a_place(run):
    assert stands_for(f"{run}/model.ckpt-7") == run / "model.ckpt-7"
    assert stands_for(run / "model.ckpt-7") == run / "model.ckpt-7"


def test_a_prefix_in_the_folder_where_we_are(run, monkeypatch):
    monkeypatch.chdir(run)
    assert stands_for("model.ckpt-3") == Path("model.ckpt-3")


@pytest.mark.parametrize("ending", ["index", "meta", "data-00000-of-00001"])
def test_a_file_of_a_checkpoint_names_its_prefix(run, ending):
    with pytest.raises(ValueError, match=r"is a file: expected a folder.* Give '.*model.ckpt-7'."):
        stands_for(run / f"model.ckpt-7.{ending}")


def test_another_file(tmp_path):
    (tmp_path / "model.h5").write_bytes(b"")
    assert stands_for(tmp_path / "model.h5") == tmp_path / "model.h5"  # which `find_stored` tells


def test_a_prefix_that_is_not_there(run):
    with pytest.raises(ValueError, match=r"there is no folder .*model.ckpt-9"):
        stands_for(run / "model.ckpt-9")


@pytest.mark.parametrize("name", ["bert_config.json", "hparams.json", "saved_model.pb"])
def test_a_folder_with_the_name_of_a_model(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("gpt2").mkdir()
    Path("gpt2", name).write_bytes(b"")
    with pytest.raises(ValueError, match=r"write './gpt2' for the folder"):
        stands_for("gpt2")


def test_a_name_that_is_too_long_with_an_ending(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        stands_for(tmp_path / ("a" * 252))
