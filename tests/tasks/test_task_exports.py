"""The formats of `task.export`, and what is refused before any work."""

from __future__ import annotations

import builtins
import inspect

import every_task
import numpy as np
import pytest
import tiny
from exports import warm_up_requests

import zoo


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "tflite"}, r"format must be one of \['saved_model', 'onnx', 'litert'\]: received 'tflite'"),
        ({"format": None}, "format must be one of"),
        ({"format": "onnx", "frozen": True}, "takes no frozen: its options are"),
        ({"format": "onnx", "weights": 1}, "weights must be True or False: received 1"),
        ({"weights": True}, "weights: only with format='onnx' or 'litert'"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        tiny.classifier().export(tmp_path / "1", **options)
    assert not (tmp_path / "1").exists()


def test_tasks_that_write_texts(tmp_path):
    task = every_task.make("causal_lm")
    with pytest.raises(ValueError, match=r"answer by one pass, of \['classification', .*received causal_lm of gpt2"):
        task.export(tmp_path / "1", format="onnx")


def test_half_precision(tmp_path):
    with pytest.raises(ValueError, match=r"compute in float32: received dtype='mixed_float16'.*dtype=\"float32\""):
        tiny.classifier(dtype="mixed_float16").export(tmp_path / "1", format="onnx")


def test_a_missing_package(tmp_path, monkeypatch):
    plain = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == "tf2onnx":
            raise ModuleNotFoundError("No module named 'tf2onnx'", name="tf2onnx")
        return plain(name, *arguments, **options)

    for name in ("onnx", "onnxruntime"):  # which need not be installed
        monkeypatch.setitem(__import__("sys").modules, name, inspect)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r'needs tf2onnx, .*: pip install "keras_transformers\[onnx\]"'):
        tiny.classifier().export(tmp_path / "1", format="onnx")
    assert not (tmp_path / "1").exists()


def test_help_tells_of_formats_where_there_are_several():
    task = tiny.classifier()
    assert "Formats:" in inspect.getdoc(task.export) and "weights" in inspect.signature(task.export).parameters
    writer = every_task.make("causal_lm")
    assert "Formats:" not in inspect.getdoc(writer.export)


@pytest.mark.parity
def test_folders_with_and_without_weights(tmp_path):
    task = tiny.classifier()
    task.save(tmp_path / "saved")
    with pytest.raises(ValueError, match=r"holds no onnx/model\.onnx, so it is not replaced"):
        task.export(tmp_path / "saved", format="onnx")
    task.export(tmp_path / "bare", format="onnx")
    with pytest.raises(ValueError, match=r"holds graphs for ONNX Runtime.*weights=True"):
        zoo.load(str(tmp_path / "bare"))
    task.export(tmp_path / "whole", format="onnx", weights=True)
    assert zoo.load(str(tmp_path / "whole")).predict(["a film"]) == task.predict(["a film"])


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"compiled": True}])
def test_the_signature_of_ids(tmp_path, options):
    import tensorflow as tf

    task = tiny.classifier()
    task.export(tmp_path / "1", **options)
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    texts = ["a fine film", "a day"]
    rows = task.tokenizer.encode(texts)
    width = max(len(row.ids) for row in rows)
    ids = np.array([row.ids + [0] * (width - len(row.ids)) for row in rows], "int32")
    columns = {"input_ids": ids, "attention_mask": np.int32(ids > 0), "token_type_ids": 0 * ids}
    found = loaded.signatures["ids"](**{name: tf.constant(value) for name, value in columns.items()})["logits"]
    expected = [[*row["probabilities"].values()] for row in task.predict(texts)]
    assert tiny.softmax(found.numpy()) == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.integration
def test_warm_up_requests_of_ids(tmp_path):
    import tensorflow as tf

    every_task.make("multiple_choice").export(tmp_path / "1")
    requests = dict(warm_up_requests(tmp_path / "1"))
    found = tf.saved_model.load(str(tmp_path / "1")).signatures["ids"](**requests["ids"])
    assert {name: value.shape for name, value in found.items()} == {"logits": (1, 1)}  # a text with one choice
