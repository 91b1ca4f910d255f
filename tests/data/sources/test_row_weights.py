from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.row_weights import WeightedRows, WithRowWeights, multiplied
from keras_transformers.data.sources.rows import Rows

WEIGHTS = np.array([0.5, 2.0, 0.0, 1.0, 3.0])


def rows(labels=(0, 1, 2, 3, 4), weights=WEIGHTS):
    return WeightedRows(Rows.of([[2, 7, 3][: 1 + number % 3] for number in range(5)], labels=labels), weights)


def weighted(source, **settings):
    dataset = batches(source, WithRowWeights(Classification(5)), max_length=4, **settings)
    return [tuple(np.array(part) for part in element[1:]) for element in dataset]


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_weight_stays_with_its_row(shuffle):
    found = weighted(rows(), batch_size=2, shuffle=shuffle)
    labels, weights = (np.concatenate(column) for column in zip(*found, strict=True))
    assert sorted(labels) == [0, 1, 2, 3, 4] and weights.tolist() == WEIGHTS[labels].tolist()
    assert weights.dtype == np.float32


def test_weights_are_multiplied_by_those_of_accumulation():
    plain = batches(rows().rows, Classification(5), 1, max_length=4, accumulation_steps=3, shuffle=False)
    found = weighted(rows(), batch_size=1, accumulation_steps=3, shuffle=False)
    for (labels, weights), (_, _, of_step) in zip(found, plain, strict=True):
        np.testing.assert_allclose(weights, WEIGHTS[labels] * np.array(of_step))


def test_weights_have_the_structure_of_the_labels():
    x, y, ones = {}, {"a": np.zeros(2), "b": np.zeros((2, 3))}, np.ones(2)
    assert multiplied((x, y), 2 * ones)[2].keys() == y.keys()
    found = multiplied((x, y, {"a": ones, "b": np.ones((2, 3))}), np.array([2.0, 3.0]))[2]
    assert found["a"].tolist() == [2, 3] and found["b"].tolist() == [[2] * 3, [3] * 3]


def test_weights_are_of_the_identity():
    identity = batches(rows(), WithRowWeights(Classification(5)), 2, max_length=4).identity()
    assert identity == batches(rows(), WithRowWeights(Classification(5)), 2, max_length=4).identity()
    others = rows(weights=WEIGHTS + 1)
    assert identity != batches(others, WithRowWeights(Classification(5)), 2, max_length=4).identity()


def test_rows_without_labels_have_inputs_alone():
    assert weighted(rows(labels=None), batch_size=5, shuffle=False) == [()]


def test_as_many_weights_as_rows():
    with pytest.raises(ValueError, match="4 weights for 5 texts"):
        rows(weights=WEIGHTS[:4])
    with pytest.raises(ValueError, match="label 9 in row 4"):
        weighted(rows(labels=[0, 1, 2, 3, 9]), batch_size=2)
