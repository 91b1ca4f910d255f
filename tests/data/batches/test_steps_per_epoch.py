"""`steps_per_epoch`: epochs of so many batches are the endless sequence of passes, cut into parts."""

import json
import subprocess
import sys
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows

PASS = 7


def make(id_rows, sizes=None, count=50, **options):
    rows = Rows.of(id_rows(count), labels=[number % 2 for number in range(count)])
    return batches(rows, Classification(2), **(sizes or {"batch_size": 8}), max_length=40, **options)


def joined(lists) -> list:
    return list(chain.from_iterable(lists))


def epochs(dataset, number: int) -> list[list]:
    return [
        [[part.numpy().tolist() for part in (x["token_ids"], *rest)] for x, *rest in dataset] for _ in range(number)
    ]


@pytest.mark.integration(quick=["options0-1", "options1-1", "options2-1", "options1-3"])
@pytest.mark.parametrize("steps", [1, 3, PASS, 10, 2 * PASS, 20])
@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"sizes": {"batch_tokens": 300}}])
def test_they_are_parts_of_the_sequence_of_passes(id_rows, steps, options):
    passes = make(id_rows, **options)
    sequence = joined(epochs(passes, -(-4 * steps // passes.num_batches)))
    parts = make(id_rows, steps_per_epoch=steps, **options)
    assert parts.num_batches == len(parts) == steps
    assert epochs(parts, 4) == [sequence[epoch * steps :][:steps] for epoch in range(4)]


@pytest.mark.parametrize("steps", [3, 10])
def test_they_begin_at_any_batch(id_rows, steps):
    dataset = make(id_rows, steps_per_epoch=steps)
    expected = epochs(dataset, 4)
    for epoch, batch in ((0, 1), (2, 2), (3, 0)):
        dataset.position.epoch, dataset.position.batch = epoch, batch
        assert epochs(dataset, 1) == [expected[epoch][batch:]]
        assert dataset.position.epoch == epoch + 1


def test_with_accumulation_weights_are_those_of_the_whole_group(id_rows):
    sequence = joined(epochs(make(id_rows, accumulation_steps=3), 2))
    parts = make(id_rows, accumulation_steps=3, steps_per_epoch=3)
    assert joined(epochs(parts, 2)) == sequence[:6]
    with pytest.raises(ValueError, match=r"steps_per_epoch=4: expected None, or a positive multiple of .*=3"):
        make(id_rows, accumulation_steps=3, steps_per_epoch=4)


@pytest.mark.parametrize("steps", [0, -1, 2.0, True, "3"])
def test_what_is_no_number_of_steps_is_refused(id_rows, steps):
    with pytest.raises(ValueError, match=r"Received steps_per_epoch="):
        make(id_rows, steps_per_epoch=steps)


def test_it_is_part_of_the_identity(id_rows):
    with_steps, without = make(id_rows, steps_per_epoch=3).identity(), make(id_rows).identity()
    assert with_steps["steps_per_epoch"] == 3 and without["steps_per_epoch"] is None
    assert {name for name in without if with_steps[name] != without[name]} == {"steps_per_epoch"}


def test_a_stream_has_no_number_of_batches(id_rows):
    class Stream:
        num_rows = lengths = None

        def sample(self):
            return Rows.of(id_rows(3), labels=[0, 1, 0])

    with pytest.raises(ValueError, match=r"steps_per_epoch=3 for a stream, whose number of batches is not known"):
        batches(Stream(), Classification(2), 8, max_length=40, steps_per_epoch=3)


REPLICAS = """
import json, sys
import tensorflow as tf
cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
rows = [[2, number + 5, 3] for number in range(50)]
source = Rows.of(rows, labels=[number % 2 for number in range(50)])
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
dataset = batches(source, Classification(2), 8, max_length=8, steps_per_epoch=10)
spread = strategy.experimental_distribute_dataset(dataset)
for _ in range(3):
    parts = [strategy.experimental_local_results(x["token_ids"]) for x, y in spread]
    assert all(len(pair) == 2 for pair in parts)
    print(json.dumps([[row[1] for part in pair for row in part.numpy().tolist()] for pair in parts]))
"""


@pytest.mark.integration
def test_under_two_replicas_the_batches_are_the_same():
    root = Path(__file__).parents[3]
    output = subprocess.run(
        [sys.executable, "-c", REPLICAS], capture_output=True, text=True, check=True, cwd=root
    ).stdout
    spread = joined(map(json.loads, output.splitlines()))
    rows = Rows.of([[2, number + 5, 3] for number in range(50)], labels=[number % 2 for number in range(50)])
    dataset = batches(rows, Classification(2), 8, max_length=8)
    alone = [np.asarray(x["token_ids"])[:, 1].tolist() for _ in range(5) for x, _ in dataset]
    assert spread == list(islice(alone, 30))
