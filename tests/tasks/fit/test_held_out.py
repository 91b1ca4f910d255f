"""The forms of `validation_data`, and `validation_split`."""

from __future__ import annotations

from functools import partial

import every_task
import numpy as np
import pytest
import tensorflow as tf
import tiny
from columns import Series
from tiny import EAGER, LABELS, TEXTS

from keras_transformers.data.batches.batch_sequence import BatchSequence
from keras_transformers.data.batches.batching import Batching, Position
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
from keras_transformers.tasks.fit.held_out import hold_out, validation_set

FEW = {"epochs": 1, "batch_size": 4, "verbose": 0} | EAGER
TEXTS, LABELS = list(TEXTS[:8]), list(LABELS[:8])


@pytest.fixture(scope="module")
def task():
    return tiny.classifier()


@pytest.fixture(scope="module")
def masked_lm():
    return tiny.masked_lm()


def rows_of(dataset):
    return sum(len(inputs["token_ids"]) for inputs, *_ in dataset)


FORMS = {
    "tuple": (TEXTS, LABELS),
    "list": [TEXTS, LABELS],
    "three": (TEXTS, LABELS, None),
    "dict": {"texts": TEXTS, "labels": LABELS},
    "arrays": [np.array(TEXTS), np.array(LABELS)],
    "Series": (Series(TEXTS), Series(LABELS)),
    "pairs": {"texts": TEXTS, "labels": LABELS, "pairs": TEXTS},
}


@pytest.mark.parametrize("form", FORMS)
def test_texts_and_labels(task, form):
    found = validation_set(task, FORMS[form], {"batch_size": 3})
    assert rows_of(found) == 8 and len(next(iter(found))) == 2


@pytest.mark.integration
def test_a_stream_of_rows(task):
    assert rows_of(validation_set(task, tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)), {"batch_size": 3})) == 8


def test_a_stream_of_texts_without_labels(task):
    """Keras would tell after the first epoch."""
    with pytest.raises(ValueError, match="validation data: classification needs labels: received a stream of texts"):
        validation_set(task, tf.data.Dataset.from_tensor_slices(TEXTS), {"batch_size": 3})


@pytest.mark.integration
def test_texts_alone(masked_lm):
    for texts in (TEXTS[:2], tuple(TEXTS[:2]), np.array(TEXTS[:2]), [TEXTS[:2]], (TEXTS[:2], None)):
        assert rows_of(validation_set(masked_lm, texts, {"batch_size": 3})) == 2


@pytest.mark.integration
def test_documents(tmp_path):
    task = tiny.pretraining()
    (tmp_path / "novel.txt").write_text("One day. It rained. We read.\n\nAnother day. We slept. We woke.\n")
    for documents in (tiny.DOCUMENTS, (tiny.DOCUMENTS,), {"texts": tiny.DOCUMENTS}, str(tmp_path / "novel.txt")):
        assert rows_of(validation_set(task, documents, {"batch_size": 3}))


def test_a_data_set_stays_as_it_is(task):
    assert validation_set(task, None, {}) is None
    for dataset in (task.dataset(TEXTS, LABELS, shuffle=False), task.dataset(TEXTS, LABELS).prefetch(1)):
        assert validation_set(task, dataset, {}) is dataset


def test_a_look_at_batches_leaves_their_position(task):
    rows = Rows.of([[2, 7, 3], [2, 3]], labels=[1, 0])
    dataset = BatchSequence(rows, Classification(2), Batching(8, 0, True, 4, (), 1, False), 1)  # as on JAX
    assert validation_set(task, dataset, {}) is dataset and dataset.position == Position(0, 0)
    rows = Rows.of([[2, 7, 3], [2, 3]])
    with pytest.raises(ValueError, match="a data set without labels"):
        validation_set(task, BatchSequence(rows, Classification(2), Batching(8, 0, True, 4, (), 1, False), 1), {})


REFUSED = [
    (TEXTS, "classification needs labels, one per text"),
    ((TEXTS,), "classification needs labels, one per text"),
    (np.array(TEXTS), "classification needs labels"),
    ((TEXTS, LABELS, None, [1.0] * 8), "received a tuple of 4. Expected .texts, labels. or"),
    ((), "received a tuple of 0"),
    ("a film", "received a str. Expected .texts, labels."),
    (5, "received a int"),
    (False, "received a bool"),
    ({"x": TEXTS, "y": LABELS}, r"received a dict with \['x', 'y'\]"),
    ({"labels": LABELS}, "received a dict without texts"),
    ((TEXTS, LABELS[:3]), "Received 3 labels for 8 texts"),
    ((TEXTS, ["x"] * 8), "unknown label 'x'"),
    (([], []), "Received an empty data set"),
    (tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(2), "Received a data set of"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_cannot_be_evaluated_is_refused_before_the_first_step(task, data, message):
    before = task.model.optimizer
    with pytest.raises(ValueError, match=f"validation data: {message}"):
        task.fit(TEXTS, LABELS, validation_data=data, **FEW)
    assert task.model.optimizer is before


def test_batches_without_labels_or_for_another_model(task, masked_lm):
    with pytest.raises(ValueError, match="validation data: received a data set without labels"):
        validation_set(task, task.dataset(TEXTS), {})
    with pytest.raises(ValueError, match=r"a data set for another model\. Expected the inputs \['mask_positions'"):
        validation_set(masked_lm, task.dataset(TEXTS, LABELS), {})


def test_the_last_share_is_held_out():
    columns = {"texts": TEXTS, "labels": np.arange(16).reshape(8, 2), "pairs": None, "sample_weight": range(8)}
    learnt, held = hold_out(columns, None, 0.3)
    assert learnt["texts"] == TEXTS[:5] and held["texts"] == TEXTS[5:]  # as Keras: the floor of 8 * 0.7 is learnt
    assert learnt["labels"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]] and len(held["labels"]) == 3
    assert learnt["pairs"] is None and list(learnt["sample_weight"]) == [0, 1, 2, 3, 4]
    assert held.keys() == {"texts", "labels"}
    assert hold_out({"texts": Series(TEXTS)}, None, 0.25)[1] == {"texts": TEXTS[6:]}
    assert hold_out({"texts": iter(TEXTS)}, None, 0.25)[1] == {"texts": TEXTS[6:]}
    assert hold_out(columns, "any", 0.0) == (columns, "any")


@pytest.mark.parametrize("share", [1, 1.0, -0.1, True, "0.2", None, float("nan")])
def test_a_share_that_is_none(share):
    with pytest.raises(ValueError, match=r"validation_split must be a share of the texts, in \[0, 1\): received"):
        hold_out({"texts": TEXTS}, None, share)


def test_shares_that_cannot_be_held_out():
    split = partial(hold_out, share=0.2)
    with pytest.raises(ValueError, match="received validation_data, and validation_split"):
        split({"texts": TEXTS}, (TEXTS, LABELS))
    with pytest.raises(ValueError, match="'texts': 8, 'labels': 6}: expected the same number of each"):
        split({"texts": TEXTS, "labels": LABELS[:6]}, None)
    with pytest.raises(ValueError, match="of 1 texts leaves 0 to learn from"):
        split({"texts": TEXTS[:1]}, None)
    with pytest.raises(ValueError, match="validation_split needs texts in a list: received 'novel"):
        split({"texts": "novel.txt"}, None)


@pytest.mark.integration(quick=["masked_lm"])
@pytest.mark.parametrize("name", every_task.USES)
def test_each_task_holds_out(name):
    task, learns = every_task.make(name), {"labels": None, "pairs": None, **every_task.USES[name].learns}
    learnt, held = hold_out(learns, None, 0.5)
    assert learnt["texts"] == learns["texts"][:2] and held["texts"] == learns["texts"][2:]
    assert next(iter(task.dataset(**learnt, batch_size=2)))[0].keys() >= task.model.input.keys()
    assert len(next(iter(validation_set(task, held, {"batch_size": 2})))) == 2


@pytest.mark.integration
def test_what_is_held_out_is_measured_and_not_learnt():
    settings, (texts, labels) = FEW | {"learning_rate": 1e-2}, (TEXTS, [*LABELS[:6], "good", "bad"])
    split, given = tiny.classifier(), tiny.classifier()
    one = split.fit(texts, labels, validation_split=0.25, **settings).history
    other = given.fit(texts[:6], labels[:6], validation_data=(texts[6:], labels[6:]), **settings).history
    assert one.keys() == other.keys() and "val_loss" in one
    np.testing.assert_allclose([*one.values()], [*other.values()], rtol=1e-5)
    assert one["val_accuracy"] == [split.evaluate(texts[6:], labels[6:])["accuracy"]]
    for weights in zip(tiny.weights(split), tiny.weights(given), strict=True):
        np.testing.assert_array_equal(*weights)


@pytest.mark.integration
def test_the_batch_size_of_validation(task):
    sizes = validation_set(task, (TEXTS, LABELS), {"batch_size": 3})
    assert [len(labels) for _, labels in sizes] == [3, 3, 2]
    history = task.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS), validation_batch_size=3, **FEW).history
    assert history["val_loss"]
    with pytest.raises(ValueError, match="validation_batch_size must be a whole number"):
        task.fit(TEXTS, LABELS, validation_batch_size=3.0, **FEW)
