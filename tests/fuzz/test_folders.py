"""Hostile folders: names that lead elsewhere, folders that are not to be replaced, and whole checkpoints."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from fuzzing import fuzz
from hostile import STRINGS, damaged, json_files
from hypothesis import strategies as st

import zoo
from keras_transformers.checkpoints import hub
from keras_transformers.checkpoints.files.atomic_folder import WRITTEN, atomic_folder

PARTS = ("org", "model", "..", ".", "", "/", "\\", "\0", "@", "%2e%2e", "~", "\u202e", "a" * 300, "main", *STRINGS[:6])


@pytest.mark.integration
def test_names_of_the_hub(tmp_path, monkeypatch):
    """None of them makes a path that leaves the cache: what comes to the library has no step up."""
    asked = []

    def answer(repo, revision, **options):
        asked.append((repo, revision))
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "model.safetensors").write_bytes(b"")
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", answer)

    def name_a_repository(name):
        asked.clear()
        hub.download(*hub.parse(f"hf:{name}"))
        for text in filter(None, asked[0]):
            assert os.path.normpath(f"/cache/{text}") == f"/cache/{text}" and "\\" not in text and "\0" not in text

    texts = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("/".join)
    names = st.tuples(texts, st.sampled_from(["", "@"]), texts).map("".join) | st.text(max_size=20)
    fuzz(name_a_repository, names | st.sampled_from(["org/model", "org/model@main", "gpt2@refs/pr/1"]), examples=200)


def contents(folder: Path) -> dict[str, object]:
    """What is in a folder, links and pipes too."""
    return {str(path.relative_to(folder)): path.lstat().st_ino for path in sorted(folder.rglob("*"))}


@pytest.mark.integration
@pytest.mark.parametrize("marker", sorted(WRITTEN))
def test_folders_to_replace(tmp_path, marker):
    """A folder that holds anything else is not touched; one that was refused is as it was."""
    names = [marker, "notes.txt", "variables/variables.index", "assets/x", "vocab.txt", "sub/config.json", ".git/HEAD",
             "model.safetensors", "assets.extra/tf_serving_warmup_requests", "1_Pooling/config.json",
             "onnx/notes.txt"]  # fmt: skip
    kinds = ("file", "file", "file", "folder", "link", "loop", "pipe")
    own = ("config.json", "variables", "assets", "vocab.txt", "model.safetensors", "1_Pooling", marker)
    folders = {str(parent) for parent in Path(marker).parents} - {"."}  # that the marker lies in

    def replace_a_folder(entries):
        target = tmp_path / "target"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for name, kind, content in entries:
            _make(target / name, kind, content)
        before = contents(target)
        try:
            with atomic_folder(target, marker) as temporary:
                _make(temporary / marker, "file", b"new")
        except ValueError:
            assert contents(target) == before
            raise
        assert all(name.startswith(own) or name in folders for name in before), before
        assert contents(target).keys() == {marker, *folders}

    config = st.just(b'{"model_type": "bert"}') | json_files({"model_type": "bert", "architectures": ["BertModel"]})
    entries = st.lists(st.tuples(st.sampled_from(names), st.sampled_from(kinds), config), max_size=4)
    fuzz(replace_a_folder, entries, examples=150)


def _make(path: Path, kind: str, content: bytes) -> None:
    if any(parent.exists() and not parent.is_dir() for parent in path.parents) or os.path.lexists(path):
        return
    if any(parent.is_symlink() for parent in path.parents):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        path.write_bytes(content)
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path.name if kind == "loop" else "/etc/hostname")


FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")


@pytest.mark.integration
def test_checkpoints(tmp_path):
    """A whole checkpoint with a fault in one file is loaded and answers, or is refused."""
    from tiny import classifier

    classifier().save(tmp_path / "saved")
    whole = {name: (tmp_path / "saved" / name).read_bytes() for name in FILES}

    def load_a_checkpoint(fault):
        name, content = fault
        for other in FILES:
            (tmp_path / "saved" / other).unlink(missing_ok=True)
            (tmp_path / "saved" / other).write_bytes(content if other == name else whole[other])
        task = zoo.load(tmp_path / "saved")
        assert len(task.predict(["a fine film"])) == 1

    def faults(name):
        broken = damaged(whole[name]) if name == "model.safetensors" else json_files(json.loads(whole[name]))
        return st.tuples(st.just(name), st.just(whole[name]) | broken)

    fuzz(load_a_checkpoint, st.sampled_from(FILES).flatmap(faults), examples=16)
