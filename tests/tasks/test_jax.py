"""Tasks of one pass on JAX, where TensorFlow cannot be imported."""

from __future__ import annotations

import pytest
from processes import run_on_jax

SCRIPT = """
import tiny

task = tiny.classifier()
history = task.fit(tiny.TEXTS, tiny.LABELS, validation_data=(tiny.TEXTS, tiny.LABELS), **tiny.FIT).history
assert history["loss"][-1] < 0.3 * history["loss"][0], history
assert task.evaluate(tiny.TEXTS, tiny.LABELS)["accuracy"] == 1.0
answers = task.predict([*tiny.TEXTS, "film " * 30, ""], batch_size=5)
assert [answer["label"] for answer in answers[:24]] == list(tiny.LABELS)
assert [answer["truncated"] for answer in answers[24:]] == [True, False]
assert abs(sum(answers[0]["probabilities"].values()) - 1) < 1e-6
assert task.predict(tiny.TEXTS[:1], tiny.TEXTS[1:2])[0]["label"] in tiny.NAMES
assert tiny.classifier(problem="multi_label").predict(["a"])[0].keys() == {"labels", "probabilities", "truncated"}
fills = tiny.masked_lm().predict(["a [MASK] [MASK]", "", "[MASK]"])
assert [len(answer["fills"]) for answer in fills] == [2, 0, 1], fills
try:
    task.export("never")
except ValueError as error:
    assert "KERAS_BACKEND=tensorflow" in str(error)
    print("done")
"""


@pytest.mark.slow
def test_tasks_without_tensorflow():
    assert run_on_jax(SCRIPT) == "done\n"
