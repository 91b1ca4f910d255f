"""The table of formats: a folder is read by the module of its program, and the others are not even imported."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest
from tf_folders import bert_variables, google_bert
from tiny import classifier

from keras_transformers.checkpoints import formats
from keras_transformers.checkpoints.formats import FORMATS, find_stored

MODULES = [form.module for form in FORMATS]


@pytest.fixture
def imported(monkeypatch):
    """A function that lists the readers which have been imported since the test began."""
    for name in MODULES:
        monkeypatch.delitem(sys.modules, f"{formats.__name__}.{name}", raising=False)
        monkeypatch.delattr(formats, name, raising=False)
    return lambda: [name for name in MODULES if f"{formats.__name__}.{name}" in sys.modules]


def test_a_folder_of_transformers_imports_its_reader_only(imported, tmp_path):
    classifier().save(tmp_path)
    assert find_stored(tmp_path).config.family == "bert"
    assert imported() == ["hugging_face"]


def test_a_checkpoint_of_tensorflow_imports_readers_of_such_only(imported, tmp_path):
    google_bert(tmp_path, bert_variables())
    assert find_stored(tmp_path).writer == "google-research/bert"
    assert imported() == ["google_electra", "google_albert", "google_bert"]


def test_a_folder_of_nothing_imports_no_reader(imported, tmp_path):
    (tmp_path / "notes.txt").write_text("checkpoint")
    with pytest.raises(ValueError, match="no checkpoint in"):
        find_stored(tmp_path)
    assert imported() == []


def test_a_folder_that_may_not_be_listed(tmp_path, monkeypatch):
    """Its files may be readable all the same: such is the mode 711 of a folder."""
    classifier().save(tmp_path / "model")
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(os, "listdir", lambda folder: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    assert find_stored(tmp_path / "model").config.family == "bert"
    with pytest.raises(ValueError, match="there is no checkpoint in"):
        find_stored(tmp_path / "empty")


def test_each_reader_is_in_the_table():
    """A reader is a module with a function `read` of a place and the user's options."""
    sources = {path.stem: ast.parse(path.read_text("utf-8")) for path in Path(formats.__file__).parent.glob("*.py")}
    readers = {
        name
        for name, tree in sources.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and node.name == "read"
        and [argument.arg for argument in node.args.args] == ["place", "user_options"]
    }
    assert readers == {*MODULES}
