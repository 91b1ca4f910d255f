"""`BatchSequence`: Keras reads its length before a callback can say where a pass starts."""

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.batch_sequence import BatchSequence
from keras_transformers.data.batches.batching import Position
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows

NUM_BATCHES = 7


@pytest.fixture
def dataset(id_rows, monkeypatch):
    rows = id_rows(50)
    with monkeypatch.context() as patch:
        patch.setattr(keras.backend, "backend", lambda: "jax")
        return batches(Rows.of(rows, labels=[len(r) % 2 for r in rows]), Classification(2), 8, max_length=40)


def test_it_has_the_attributes_of_batches(dataset):
    assert isinstance(dataset, BatchSequence)
    assert dataset.num_batches == len(dataset) == len(list(dataset)) == NUM_BATCHES
    assert dataset.position == Position(epoch=1)
    assert dataset.identity()["batch_size"] == 8


def test_its_length_before_the_first_pass_is_that_of_an_epoch(dataset):
    dataset.position.batch = 4
    assert dataset.num_batches == NUM_BATCHES
    assert len(list(dataset)) == NUM_BATCHES - 4


def rows(element) -> list:
    return np.asarray(element[0]["token_ids"]).tolist()


def test_a_pass_that_was_broken_off_does_not_shorten_the_next(dataset):
    expected = [rows(element) for element in dataset]
    dataset.position.epoch, dataset.position.batch = 0, 4
    begun = iter(dataset)
    assert rows(next(begun)) == expected[4]
    assert dataset.num_batches == len(dataset) == NUM_BATCHES  # what Keras takes for the length of every epoch
    dataset.position.batch = 0
    assert [rows(element) for element in dataset] == expected


def test_fit_starts_where_the_position_says_and_has_whole_epochs_after(dataset):
    """As Keras calls it on JAX: it asks the length, looks at a batch, asks again, and only then begins."""
    expected = [[rows(element) for element in dataset] for _ in range(2)]
    dataset.position.epoch, dataset.position.batch = 0, 4
    assert dataset.num_batches == NUM_BATCHES
    dataset.on_epoch_begin()
    dataset[0]
    assert dataset.num_batches == NUM_BATCHES
    dataset.on_epoch_end()
    for epoch, first in ((0, 4), (1, 0)):
        dataset.on_epoch_begin()
        assert dataset.num_batches == NUM_BATCHES - first
        assert [rows(dataset[index]) for index in range(dataset.num_batches)] == expected[epoch][first:]
        dataset.on_epoch_end()
    assert dataset.position == Position(epoch=2)


def test_a_batch_that_cannot_be_spread_over_devices_says_so(dataset, monkeypatch):
    for name, value in {"num_processes": 1, "process_id": 0}.items():  # on TensorFlow, Keras 3.12 has none
        monkeypatch.setattr(f"keras.src.backend.distribution_lib.{name}", lambda value=value: value, raising=False)
    eight = keras.distribution.DataParallel(devices=[f"cpu:{index}" for index in range(8)])
    with eight.scope():
        assert len(rows(dataset[0])) == 8
        with pytest.raises(ValueError, match=r"a batch of 2 rows .* 8 parts.*multiple of 8.*pad_remainder=True"):
            _ = dataset[NUM_BATCHES - 1]
    assert len(rows(dataset[NUM_BATCHES - 1])) == 2
