"""What rounding costs: metrics before and after, by the program that reads the file."""

from __future__ import annotations

import every_task
import numpy as np
import pytest
import tiny

from keras_transformers.checkpoints.files.card import is_unedited
from keras_transformers.tasks import Task
from keras_transformers.tasks.exports import rounding_loss
from keras_transformers.tasks.exports.rounding_loss import Loss, computed_by

DATA = [*tiny.TEXTS], [*tiny.LABELS]


def trained(**options) -> Task:
    task = tiny.classifier(**options)
    task.fit(*DATA, **tiny.FIT)
    return task


def test_a_program_computes_the_metrics():
    """A program that always says "bad" is right for half of the texts; afterwards the model computes again."""
    task = tiny.classifier()
    expected = task.evaluate(*DATA, verbose=0)

    def program(columns):
        assert columns["input_ids"].dtype == np.int32
        return {"logits": np.tile(np.float32([3, 0]), (len(columns["input_ids"]), 1))}

    with computed_by(task.model, program, rank=2):
        assert task.evaluate(*DATA, verbose=0)["accuracy"] == 0.5
    assert task.evaluate(*DATA, verbose=0) == pytest.approx(expected)
    assert not task.model.run_eagerly


@pytest.mark.parametrize(
    ("before", "after", "judge", "loss"),
    [(0.9, 0.88, "accuracy", 0.02), (0.5, 0.6, "f1", -0.1), (2.0, 2.5, "mean_absolute_error", 0.25)],
)
def test_a_loss(before, after, judge, loss):
    found = Loss({judge: before}, {judge: after}, judge)
    assert found.loss == pytest.approx(loss)
    assert f"| {judge} | {before:.4f} | {after:.4f} |" in found.describe()
    found.check(loss + 1e-9)
    with pytest.raises(ValueError, match=f"rounding changes {judge} from .*, and max_loss is"):
        found.check(loss - 0.001)
    with pytest.raises(ValueError, match="a loss of nan"):
        Loss({judge: before}, {judge: float("nan")}, judge).check(1.0)


@pytest.mark.parity
@pytest.mark.parametrize("format", ["onnx", "litert"])
def test_the_metrics_are_printed_and_kept(format, tmp_path, capsys):
    task = trained()
    task.export(tmp_path / "out", format=format, quantize="int8", validation_data=DATA)
    assert "| accuracy | 1.0000 | 1.0000 |" in capsys.readouterr().out
    task.export(tmp_path / "out", format=format, quantize="int8", validation_data=[*map(iter, DATA)])
    assert "| accuracy | 1.0000 | 1.0000 |" in capsys.readouterr().out
    card = tmp_path / "out" / "README.md"
    assert "| accuracy | 1.0000 | 1.0000 |" in card.read_text()
    assert is_unedited(card)
    task.export(tmp_path / "out", format=format)  # replaces it
    assert not card.exists()


@pytest.mark.parity
@pytest.mark.parametrize("format", ["onnx", "litert"])
def test_too_large_a_loss_writes_nothing(format, tmp_path, monkeypatch):
    task = tiny.classifier()
    losses = iter([{"accuracy": 0.9}, {"accuracy": 0.85}])
    monkeypatch.setattr(rounding_loss, "_measured", lambda *arguments: next(losses))
    with pytest.raises(ValueError, match=r"from 0.9000 to 0.8500, a loss of 0.0500, and max_loss is 0.01"):
        task.export(tmp_path / "other", format=format, quantize="int8", validation_data=DATA)
    assert not (tmp_path / "other").exists()


@pytest.mark.parity
def test_vectors_and_questions_are_measured_too(tmp_path, capsys):
    task = Task("sentence_embedding", tiny.config(), tiny.tokenizer(), loss="cosine")
    data = {"texts": [*tiny.TEXTS[:4]], "labels": [0.1, 0.9, 0.4, 0.6], "pairs": [*tiny.TEXTS[4:8]]}
    task.export(tmp_path / "vectors", format="litert", quantize="float16", validation_data=data)
    assert "| spearman |" in capsys.readouterr().out
    questions = every_task.make("question_answering")
    asked = ["a film", "a day"], [(7, "film"), (2, "warm")], ["a fine film", "a warm day"]
    questions.export(tmp_path / "questions", format="litert", quantize="float16", validation_data=asked)
    assert "| f1 |" in capsys.readouterr().out


@pytest.mark.integration
def test_a_saved_model_is_measured(tmp_path, capsys):
    task = Task("classification", tiny.config(hidden_dim=64), tiny.tokenizer(), labels=tiny.NAMES)
    expected = task.evaluate(*DATA, verbose=0)
    task.export(tmp_path / "1", compute="int8", validation_data=DATA, max_loss=1)
    assert f"| accuracy | {expected['accuracy']:.4f} |" in capsys.readouterr().out
    assert task.evaluate(*DATA, verbose=0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation_data": DATA}, 'give compute="int8", or leave it out'),
        ({"max_loss": 0.1}, "max_loss is a limit for what validation_data measures"),
        ({"compute": "int8", "max_loss": 0}, "give both, or leave it out"),
        ({"format": "onnx", "quantize": "int8", "max_loss": 0}, "give both, or leave it out"),
        ({"format": "litert", "quantize": "int8", "validation_data": DATA, "max_loss": True}, "received True"),
        ({"quantize": "int8"}, "quantize: only with format='onnx' or 'litert'"),
        ({"format": "litert", "validation_data": DATA}, 'give quantize="int8"'),
        ({"format": "litert", "quantize": "int4"}, r"one of \['int8', 'float16'\], or None: received 'int4'"),
        ({"format": "onnx", "quantize": "float16"}, r"one of \['int8'\], or None"),
        ({"format": "onnx", "length": 8}, "takes no length: its options are"),
        ({"format": "litert", "length": 1}, "from 2 to 16, .*: received 1"),
        ({"format": "litert", "length": 17}, "received 17"),
        ({"format": "litert", "mediapipe": "yes"}, "mediapipe must be True or False: received 'yes'"),
        ({"format": "litert", "quantize": "int8", "validation_data": DATA, "max_loss": -1}, "at least 0"),
        ({"format": "litert", "quantize": "int8", "validation_data": DATA, "max_loss": float("nan")}, "at least 0"),
        ({"format": "litert", "quantize": "int8", "validation_data": "texts"}, "or a dict of these: received 'texts'"),
        ({"format": "litert", "quantize": "int8", "validation_data": {"labels": []}}, "or a dict of these"),
        ({"format": "litert", "quantize": "int8", "validation_data": (["a"], ["other"])}, "unknown label 'other'"),
        ({"format": "litert", "quantize": "int8", "validation_data": ([], [])}, "no texts|empty"),
    ],
)
def test_wrong_options_are_refused_before_any_work(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        tiny.classifier().export(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_what_is_not_measured_by_token_ids_alone_is_refused(tmp_path):
    with pytest.raises(ValueError, match="masked_lm is not measured by token ids alone: it needs"):
        tiny.masked_lm().export(tmp_path / "out", format="onnx", quantize="int8", validation_data=(DATA[0],))
