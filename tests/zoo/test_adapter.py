"""`zoo.load` of a folder of `peft`: the base that it names, with the adapter merged."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import zoo

QUERY = "bert.encoder.layer.0.attention.self.query"
TEXT = ["a fine film"]


def write(folder: Path, base: str | None, labels: int = 0, **options) -> Path:
    """An adapter of rank 2; with a new classifier if labels are given."""
    random, folder = np.random.default_rng(0), Path(folder)
    folder.mkdir(exist_ok=True)
    values = {"peft_type": "LORA", "base_model_name_or_path": base, "r": 2, "lora_alpha": 4, **options}
    (folder / "adapter_config.json").write_text(json.dumps(values))
    shapes = {f"{QUERY}.lora_A.weight": (2, 16), f"{QUERY}.lora_B.weight": (16, 2)}
    shapes |= {"classifier.weight": (labels, 16), "classifier.bias": (labels,)} if labels else {}
    tensors = {f"base_model.model.{name}": random.normal(size=shape) for name, shape in shapes.items()}
    tensors = {name: array.astype("float32") for name, array in tensors.items()}
    safetensors.numpy.save_file(tensors, folder / "adapter_model.safetensors")
    return folder


def test_the_base_with_the_adapter(folders, tmp_path):
    folder = write(tmp_path / "adapter", folders["classification"])
    task, base = zoo.load(folder), zoo.load(folders["classification"])
    assert (task.name, task.labels) == ("classification", ("bad", "good"))
    tensors = safetensors.numpy.load_file(folder / "adapter_model.safetensors")
    a, b = (tensors[f"base_model.model.{QUERY}.lora_{part}.weight"] for part in "AB")
    for weight, old in zip(task.model.weights, base.model.weights, strict=True):
        change = (b @ a * 2).T if weight.path.endswith("attention/query/kernel") else 0
        assert np.allclose(np.array(weight), np.array(old) + change, atol=1e-6)


@pytest.mark.integration
def test_what_is_saved_is_whole(folders, tmp_path):
    task = zoo.load(write(tmp_path / "adapter", folders["classification"]))
    task.save(tmp_path / "whole")
    assert task.predict(TEXT) == zoo.load(tmp_path / "whole").predict(TEXT)


def test_a_new_classifier_of_an_adapter(folders, tmp_path):
    folder = write(tmp_path / "adapter", folders["pretraining"], 3, task_type="SEQ_CLS")
    tensors = safetensors.numpy.load_file(folder / "adapter_model.safetensors")
    assert zoo.load(folder).labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    with pytest.warns(UserWarning, match=r"it is kept, and its outputs are now called \['a', 'b', 'c'\]"):
        task = zoo.load(folder, labels=["a", "b", "c"])
    kernel = np.array(task.model.get_layer("classifier").kernel)
    assert np.array_equal(kernel.T, tensors["base_model.model.classifier.weight"])


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("no/such-base", "an adapter of peft for 'no/such-base', its base, which cannot be loaded: wanted config"),
        ("adapter", "is an adapter itself: expected a whole model"),
        ("rnn_seq2seq", "the base 'rnn_seq2seq' has no folder of weights"),
        ("gpt_mini_en", "does not fit its base gpt_mini_en"),
    ],
)
def test_a_base_that_is_none(monkeypatch, tmp_path, base, message):
    importlib.import_module("huggingface_hub.constants")  # reads the variable once, also for the tests behind this
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        zoo.load(write(tmp_path / "adapter", base))


def test_an_adapter_on_the_hub_is_fetched_with_its_base(folders, monkeypatch, tmp_path):
    from zoo.loading import adapter, find

    places = {"org/lora": write(tmp_path / "adapter", "org/base", revision="v2"), "org/base": folders["classification"]}
    asked = []

    def download(repo, revision=None, cache_dir=None, pickled=False):
        asked.append((repo, revision))
        return Path(places[repo])

    monkeypatch.setattr(find.hub, "download", download)
    assert adapter.hub is find.hub
    assert zoo.load("hf:org/lora").name == "classification"
    assert asked == [("org/lora", None), ("org/base", "v2")]
