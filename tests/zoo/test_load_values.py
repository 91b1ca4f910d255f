"""The weights of a loaded task: those of the file, and new ones as if no file were there."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import keras
import numpy as np
import pytest
import safetensors.numpy
from every_task import USES

import zoo
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.tasks.contract.kind import find_kind
from zoo.loading import load as loading

ENCODER = [name for name in USES if "encoder" in find_kind(name).models and name in FAMILIES["bert"].tasks]
CASES = [("pretraining", name) for name in ENCODER] + [("causal_lm",) * 2, ("seq2seq_lm",) * 2]
OPTIONS = {"classification": {"labels": 3}, "token_classification": {"labels": 3}}


def values(task) -> list[tuple[str, np.ndarray]]:
    """All variables of the model, seeds of dropout among them, whose names Keras counts on."""
    variables = task.model.variables
    return [(re.sub("seed_generator_[0-9]+", "seed", v.path), keras.ops.convert_to_numpy(v)) for v in variables]


def loaded_early(monkeypatch, *arguments, **options):
    """The task whose model has values from initialisers before the file is read."""
    with monkeypatch.context() as patch:
        patch.setattr(loading, "late_values", nullcontext)
        return zoo.load(*arguments, **options)


def compare(monkeypatch, *arguments, **options):
    late, early = zoo.load(*arguments, **options), loaded_early(monkeypatch, *arguments, **options)
    for (path, value), (early_path, expected) in zip(values(late), values(early), strict=True):
        assert path == early_path
        np.testing.assert_array_equal(value, expected, err_msg=path)
    return late


@pytest.mark.integration
@pytest.mark.parametrize(("saved", "task"), CASES, ids=str)
def test_new_heads_and_seeds_are_those_of_a_model_without_a_file(folders, monkeypatch, saved, task):
    compare(monkeypatch, folders[saved], task, seed=5, **OPTIONS.get(task, {}))


@pytest.mark.parametrize(
    "options", [{"dtype": "bfloat16"}, {"lora_rank": 2}, {"dropout": 0.0, "dtype": "mixed_float16"}], ids=str
)
@pytest.mark.integration
def test_with_each_option(folders, monkeypatch, options):
    compare(monkeypatch, folders["classification"], seed=5, **options)


@pytest.mark.integration
def test_in_a_strategy(folders, monkeypatch):
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    task = compare(monkeypatch, folders["classification"], seed=5, strategy=strategy)
    assert all(isinstance(weight.value, tf.distribute.DistributedValues) for weight in task.model.weights)


def test_no_initialiser_runs_for_what_the_file_has(folders, monkeypatch):
    drawn = []
    draw = keras.initializers.TruncatedNormal.__call__

    def recorded(self, shape, dtype=None):
        if not isinstance(result := draw(self, shape, dtype=dtype), keras.KerasTensor) and hasattr(result, "numpy"):
            drawn.append(tuple(shape))  # shapes that are inferred in a graph draw nothing
        return result

    monkeypatch.setattr(keras.initializers.TruncatedNormal, "__call__", recorded)
    zoo.load(folders["classification"])
    assert drawn == []
    zoo.load(folders["pretraining"], labels=["a", "b", "c"])
    assert drawn == [(16, 3)]


@pytest.mark.integration
def test_a_file_that_does_not_fit_leaves_nothing_behind(folders, tmp_path):
    for file in Path(folders["classification"]).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    stored = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    stored.pop("bert.pooler.dense.bias")
    safetensors.numpy.save_file(stored, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"nothing was loaded(.|\n)*missing"):
        zoo.load(tmp_path)
    with keras.StatelessScope():  # at its end Keras initialises what it knows to be without values
        pass
    assert zoo.load(folders["classification"]).predict(["a fine film"])
