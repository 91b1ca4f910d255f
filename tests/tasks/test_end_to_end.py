"""The whole way of each task: learn, save, load, predict, export, and the same answers from the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tiny
from every_task import FIT, USES, make

import zoo
from keras_transformers.checkpoints.settings.names import task_names
from keras_transformers.tasks import Task
from keras_transformers.text.strings import decoded


def served(task: Task, folder: Path, asked: tuple[list, ...]) -> list[dict[str, Any]]:
    """What the export answers, as `predict` says it."""
    module = tf.saved_model.load(folder)
    signatures = {} if task.kind.writes_text else task.parts.answers.signatures
    known = {name: signature.inputs for name, signature in signatures.items()} or {"serving_default": ("text",)}
    name, inputs = next(pair for pair in known.items() if len(pair[1]) == len(asked))
    answer = module.signatures[name](**dict(zip(inputs, map(tf.constant, asked), strict=True)))
    answer = {name: decoded(column.numpy()) for name, column in answer.items()}
    rows = [dict(zip(answer, row, strict=True)) for row in zip(*answer.values(), strict=True)]
    if task.kind.writes_text:
        return rows
    return [{**task.parts.answers.describe(row), "truncated": bool(row["truncated"])} for row in rows]


def values(answer: Any) -> list:
    """The numbers and texts of an answer, in one list."""
    if isinstance(answer, dict):
        return [value for key in sorted(answer) for value in values(answer[key])]
    if isinstance(answer, (list, tuple, np.ndarray)):
        return [value for part in answer for value in values(part)]
    return [answer]


def assert_alike(ours: Any, theirs: Any) -> None:
    ours, theirs = values(ours), values(theirs)
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        assert one == (pytest.approx(other, abs=1e-5) if isinstance(other, (float, np.floating)) else other)


def test_every_task_is_here():
    assert set(USES) == set(task_names())


@pytest.mark.integration(quick=["classification", "masked_lm"])
@pytest.mark.end_to_end
@pytest.mark.parametrize("name", task_names())
def test_from_fit_to_the_export(name, tmp_path):
    task, use = make(name), USES[name]
    before = tiny.weights(task)
    assert np.isfinite(task.fit(**use.learns, **FIT, **tiny.EAGER).history["loss"]).all()
    assert any((old != new).any() for old, new in zip(before, tiny.weights(task), strict=True))
    task.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    assert loaded.name == name
    for one, other in zip(tiny.weights(task), tiny.weights(loaded), strict=True):
        np.testing.assert_array_equal(one, other)

    options = {"max_new_tokens": 3} if loaded.kind.writes_text else {}
    answers = loaded.predict(*use.asked, **options)
    assert len(answers) == len(use.asked[0])
    loaded.export(tmp_path / "1", **options)
    assert_alike(served(loaded, tmp_path / "1", use.asked), answers)
