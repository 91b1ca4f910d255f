from collections import Counter
from dataclasses import replace

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.batching import FINE_BUCKETS, Batching
from keras_transformers.data.batches.pipeline import BatchSequence, Position, batches
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.data.sources.translations import Translations

SETTINGS = Batching(
    batch_size=None,
    seed=0,
    shuffle=True,
    max_length=100,
    buckets=FINE_BUCKETS,
    accumulation_steps=1,
    drop_remainder=False,
    batch_tokens=400,
)
LENGTHS = np.random.default_rng(0).poisson(15, (3000, 2)) + 1


def plan(lengths=LENGTHS, epoch=0, **changes):
    batching = replace(SETTINGS, **changes)
    return batching.plan(np.asarray(lengths), batching.rng(epoch))


def shapes(batches, lengths=LENGTHS):
    """Rows and width of every batch."""
    widths = SETTINGS.widths
    return [(len(batch), int(widths[np.searchsorted(widths, lengths[batch].max())])) for batch in batches]


@pytest.mark.parametrize("changes", [{}, {"shuffle": False}, {"accumulation_steps": 7}, {"buckets": ()}])
@pytest.mark.parametrize("count", [9, 100, 3000])
def test_every_row_once_in_batches_of_so_many_tokens(changes, count):
    lengths = LENGTHS[:count]
    batches = plan(lengths, **changes)
    assert sorted(np.concatenate(batches)) == list(range(count))
    assert len(batches) == replace(SETTINGS, **changes).num_batches(lengths)
    assert len(batches) % changes.get("accumulation_steps", 1) == 0
    assert max(rows * width for rows, width in shapes(batches, lengths)) <= 400


@pytest.mark.parametrize("steps", [1, 4])
def test_every_epoch_has_other_batches_of_the_same_few_shapes(steps):
    epochs = [plan(epoch=epoch, accumulation_steps=steps) for epoch in range(3)]
    first, second, third = (Counter(shapes(batches)) for batches in epochs)
    assert first == second == third
    assert len(first) <= len(np.unique(SETTINGS.widths[np.searchsorted(SETTINGS.widths, LENGTHS.max(axis=1))])) + steps
    assert not np.array_equal(np.concatenate(epochs[0]), np.concatenate(epochs[1]))
    assert np.array_equal(np.concatenate(epochs[0]), np.concatenate(plan(accumulation_steps=steps)))


def test_batches_are_nearly_full_and_in_random_order():
    batches = plan()
    assert sum(rows * width for rows, width in shapes(batches)) / len(batches) > 0.93 * 400
    means = [LENGTHS[batch].mean() for batch in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2


def test_the_padded_length_counts_as_in_fairseq():
    """`--max-tokens 12`: the rows of a batch times the longest of both sides, in the order given."""
    lengths = np.array([[2, 4], [3, 1], [1, 1], [6, 2], [6, 6], [1, 1]])
    batches = plan(lengths, shuffle=False, max_length=10, buckets=range(1, 10), batch_tokens=12)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2], [3, 4], [5]]


def test_what_does_not_divide():
    assert sorted(len(batch) for batch in plan([[3, 3]] * 3, accumulation_steps=2)) == [1, 2]
    assert plan([[3, 3]] * 3, accumulation_steps=5) == []
    full = plan(np.full((85, 2), 20), drop_remainder=True)
    assert [len(batch) for batch in full] == [20] * 4


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"batch_size": 8}, "batch_size=8 and batch_tokens=400: expected one"),
        ({"batch_tokens": None}, "batch_size=None and batch_tokens=None"),
        ({"batch_tokens": 99}, "batch_tokens=99: expected a whole number of at least 100"),
    ],
)
def test_settings_out_of_range(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(SETTINGS, **changes)


def test_a_row_that_is_too_long():
    rows = Translations(Ragged.of([[1] * 9]), Ragged.of([[1] * 41]))
    dataset = batches(rows, Translation(50, start_id=0), batch_tokens=400, max_length=40)
    with pytest.raises(Exception, match="41 tokens, more than max_length=40"):
        next(iter(dataset))


def pairs(count=600):
    rng = np.random.default_rng(1)
    sides = ([rng.integers(2, 50, length).tolist() for length in side] for side in LENGTHS[:count].T)
    return Translations(*map(Ragged.of, sides))


def elements(dataset):
    return [[{name: np.asarray(x) for name, x in inputs.items()}, *map(np.asarray, rest)] for inputs, *rest in dataset]


@pytest.mark.integration(quick=["1-sequence", "2-sequence"])
@pytest.mark.parametrize("kind", ["dataset", "sequence"])
@pytest.mark.parametrize("steps", [1, 2])
def test_epochs_and_going_on_in_the_middle(kind, steps, monkeypatch):
    def make():
        options = {"batch_tokens": 400, "max_length": 40, "accumulation_steps": steps}
        return batches(pairs(), Translation(50, start_id=0), **options)

    if kind == "dataset" and keras.backend.backend() != "tensorflow":
        pytest.skip("a tf.data.Dataset is made on TensorFlow only")
    if kind == "sequence":
        monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    whole, resumed = make(), make()
    monkeypatch.undo()
    assert isinstance(whole, BatchSequence) == (kind == "sequence")
    count = len(whole) if kind == "sequence" else int(whole.cardinality())
    epochs = [elements(whole) for _ in range(3)]
    assert [len(epoch) for epoch in epochs] == [count] * 3
    assert count % steps == 0
    resumed.position.epoch, resumed.position.batch = 1, 5
    for one, other in zip(elements(resumed) + elements(resumed), epochs[1][5:] + epochs[2], strict=True):
        np.testing.assert_equal(one, other)
    assert resumed.position == Position(epoch=3)


def test_accumulated_batches_of_unlike_size_weigh_by_their_targets():
    dataset = batches(pairs(), Translation(50, start_id=0), batch_tokens=400, max_length=40, accumulation_steps=2)
    batch = elements(dataset)
    for macro in zip(batch[::2], batch[1::2], strict=True):
        losses, counts, means = [], [], []
        for _, labels, weights in macro:
            loss, real = 0.1 * labels, labels >= 0
            losses.append(loss[real].sum())
            counts.append(real.sum())
            means.append((loss * weights)[real].sum() / real.sum())
        assert np.mean(means) == pytest.approx(sum(losses) / sum(counts), rel=1e-5)


def test_sources_without_lengths_of_their_own():
    from keras_transformers.data.objectives.next_token import NextToken
    from keras_transformers.data.sources.packing import Blocks

    with pytest.raises(ValueError, match=r"batch_tokens=64 for Blocks.* use batch_size, such as 4"):
        batches(Blocks(np.arange(100), 16), NextToken(100), batch_tokens=64, max_length=16)
    with pytest.raises(ValueError, match="2 rows: not enough for one step of 3 batches of 64 tokens"):
        batches(Rows.of([[1], [2]]), NextToken(9), batch_tokens=64, max_length=16, accumulation_steps=3)
