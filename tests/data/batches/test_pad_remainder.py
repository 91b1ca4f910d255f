"""A last batch that is filled with rows without a target: nothing but its shape differs."""

from __future__ import annotations

import every_task
import keras
import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.batches.window import filled, weighted
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
from keras_transformers.training.losses.embedding_losses import MultipleNegativesRanking

ROWS = Rows.of([[2, 9, 3], [2, 8, 8, 3], [2, 3]], labels=[1, 0, 1])


def make(rows=ROWS, size=2, objective=None, **options):
    return batches(rows, objective or Classification(2), size, max_length=16, shuffle=False, **options)


def sizes(dataset):
    return [[len(array) for array in keras.tree.flatten(element)] for element in dataset]


@pytest.mark.integration
def test_all_batches_have_one_size():
    assert sizes(make()) == [[2] * 4, [1] * 4]
    assert sizes(make(pad_remainder=True)) == [[2] * 4] * 2
    assert sizes(make(size=8, pad_remainder=True)) == [[8] * 4]
    (_, last) = make(pad_remainder=True)
    assert np.asarray(last[1]).tolist() == [1, -1]
    assert np.asarray(last[0]["token_ids"])[:, :3].tolist() == [[2, 3, 0], [2, 3, 0]]  # the first row of the batch


def test_shapes_are_fixed():
    dataset = make(pad_remainder=True, buckets=())
    if hasattr(dataset, "element_spec"):
        shapes = {tuple(spec.shape) for spec in keras.tree.flatten(dataset.element_spec)}
        assert shapes == {(2, 16), (2,)}
    assert dataset.num_rows == 3


@pytest.mark.parametrize("options", [{"drop_remainder": True}, {"batch_tokens": 64, "size": None}])
def test_it_goes_with_no_other_way_to_end(options):
    with pytest.raises(ValueError, match=r"pad_remainder=True and .*leave one of them out"):
        make(pad_remainder=True, **options)


def test_a_run_may_be_resumed_with_it_and_without_it():
    assert make().identity() == make(pad_remainder=True).identity() != make(size=3).identity()


def test_labels_of_any_kind_have_no_target():
    element = {"x": np.ones((1, 3))}, {"a": np.ones((1, 2), "int32"), "b": np.ones(1, "float32")}, {"a": np.ones(1)}
    inputs, labels, weights = filled(element, 3)
    assert inputs["x"].tolist() == [[1] * 3] * 3
    assert labels["a"].tolist() == [[1, 1], [-1, -1], [-1, -1]]
    np.testing.assert_array_equal(labels["b"], np.array([1, np.nan, np.nan], "float32"))
    assert weights["a"].tolist() == [1, 1, 1]
    assert filled(element, 1) is element


@pytest.mark.parametrize("labels", [np.array([[3], [4], [1]]), np.array([[0.5], [1.0], [2.0]], "float32")])
def test_accumulated_batches_count_targets_alone(labels):
    """The same weights of real rows, whether the second batch has a row or a row and two fillers."""
    inputs = np.zeros((3, 1))
    parts = [(inputs[:2], labels[:2]), (inputs[2:], labels[2:])]
    expected = weighted(parts)
    found = weighted([filled(part, 3) for part in parts])
    for (_, _, weights), (_, _, others) in zip(expected, found, strict=True):
        np.testing.assert_allclose(others[: len(weights)], weights)


def test_texts_of_a_filler_are_nobodys_negatives():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5, 3, 4)).astype("float32")
    loss = MultipleNegativesRanking()
    expected = float(loss(np.array([0, 1, 2]), vectors[:3]))
    assert float(loss(np.array([0, 1, 2, -1, -1]), vectors)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("name", every_task.NAMES)
def test_every_task_learns_and_measures_the_same(name):
    task, learns = every_task.make(name), every_task.USES[name].learns
    weights = task.model.get_weights()
    found = []
    for pad in (False, True):
        task.model.set_weights(weights)
        options = {"epochs": 1, "batch_size": 3, "verbose": 0, "dataset_options": {"pad_remainder": pad}}
        task.fit(**learns, **options, learning_rate=0.01, epsilon=0.01)  # of rounded gradients no whole steps
        scores = task.evaluate(**learns, batch_size=3, dataset_options={"pad_remainder": pad})
        found.append((task.model.get_weights(), scores))
    (expected, scores), (padded, others) = found
    for one, other in zip(expected, padded, strict=True):
        np.testing.assert_allclose(other, one, atol=2e-5)
    assert others == {metric: pytest.approx(value, rel=1e-4, abs=1e-5) for metric, value in scores.items()}
