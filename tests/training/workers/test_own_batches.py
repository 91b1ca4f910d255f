"""Workers make their own rows of our batches; other data sets are distributed as TensorFlow does it."""

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
from keras_transformers.training.workers.own_batches import make_own_rows

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="strategies are TensorFlow's")


@pytest.fixture
def strategy():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    make_own_rows(strategy)
    make_own_rows(strategy)
    return strategy


@pytest.mark.integration
def test_a_worker_asks_for_its_own_rows(strategy, monkeypatch):
    dataset = batches(Rows.of([[2, 3]] * 9, labels=[*range(9)]), Classification(9), 4, max_length=4, shuffle=False)
    asked, own = [], dataset.own
    monkeypatch.setattr(dataset, "own", lambda shares: asked.append(shares) or own(shares))
    distributed = strategy.experimental_distribute_dataset(dataset)
    assert isinstance(distributed, tf.distribute.DistributedDataset) and asked == [[(0, 1)]]
    assert [y.numpy().tolist() for _, y in distributed] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert dataset.position.epoch == 1


@pytest.mark.integration
def test_other_data_sets_are_left_to_tensorflow(strategy):
    rows = batches(Rows.of([[2, 3]] * 8, labels=[0] * 8), Classification(2), 4, max_length=4)
    for dataset in (tf.data.Dataset.range(8).batch(4), rows.map(lambda x, y: y)):
        assert [len(np.asarray(batch)) for batch in strategy.experimental_distribute_dataset(dataset)] == [4, 4]
