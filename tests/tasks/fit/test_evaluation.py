"""`evaluate` reads what it measures once."""

from __future__ import annotations

import numpy as np
import pytest
import questions
import tiny
from questions import ANSWERS, CONTEXTS, QUESTIONS

from keras_transformers.tasks.reports import measure

LONG = [*CONTEXTS[:-1], CONTEXTS[-1] + " It rained." * 9]  # of several windows


@pytest.fixture(scope="module")
def task():
    """Of questions; neither its answers nor its metrics are traced."""
    task = questions.untraced(questions.answerer())
    task.compile(run_eagerly=True)
    return task


@pytest.mark.integration
def test_windows_of_questions_are_read_once(task, monkeypatch):
    read, run = [], task.model.predict_on_batch
    monkeypatch.setattr(
        task.model, "predict_on_batch", lambda inputs: read.append(len(inputs["token_ids"])) or run(inputs)
    )
    monkeypatch.setattr(task.parts.answers, "predict", lambda *_, **__: pytest.fail("read twice"))
    results = task.evaluate(QUESTIONS, ANSWERS, pairs=LONG, batch_size=3)
    windows = task.dataset(QUESTIONS, ANSWERS, pairs=LONG, shuffle=False, batch_size=1).num_batches
    assert sum(read) == windows > len(QUESTIONS)
    assert results.keys() == {"span_accuracy", "cross_entropy", "exact_match", "f1"}


@pytest.mark.integration
def test_questions_are_measured_as_they_are_answered(task):
    results, report = (
        work(QUESTIONS, ANSWERS, pairs=LONG) for work in (task.evaluate, lambda *a, **o: measure(task, *a, **o))
    )
    assert (results["exact_match"], results["f1"]) == (report["exact_match"], report["f1"])
    assert results["f1"] > 0


@pytest.mark.integration
def test_metrics_do_not_depend_on_batches():
    task = tiny.classifier()
    task.compile(run_eagerly=True)
    texts = [text + " and a day" * (number % 3) for number, text in enumerate(tiny.TEXTS)]
    one, other = (task.evaluate(texts, tiny.LABELS, batch_size=size) for size in (5, 64))
    assert one.keys() == other.keys() and "loss" not in one
    for name, value in one.items():
        np.testing.assert_allclose(value, other[name], rtol=1e-5)
