from itertools import pairwise

import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.next_token import NextToken
from keras_transformers.data.sources.next_token_rows import next_tokens, with_end
from keras_transformers.data.sources.packing import Blocks, Packed, best_fit, next_token_source
from keras_transformers.data.sources.rows import Ragged, Rows

END, PAD = 1, 0


@pytest.fixture
def texts():
    """Token ids that tell the text and the place: text i is 1000 * i + 10, + 11, ..."""
    rng = np.random.default_rng(0)
    return [[1000 * i + 10 + j for j in range(rng.integers(0, 30))] for i in range(60)]


def elements(source, length, **options):
    dataset = batches(source, NextToken(100_000, PAD), 4, max_length=length, **{"buckets": (), **options})
    return [(np.array(x["token_ids"]), np.array(x["padding_mask"]), np.array(y)) for x, y in dataset]


def pairs(batches_of):
    """Every (document tokens so far, target) there is, so that nothing is lost, doubled or seen across texts."""
    found = []
    for ids, mask, labels in batches_of:
        for row in zip(ids, mask, labels, strict=True):
            for number in range(1, row[1].max() + 1):
                inside = row[1] == number
                found += zip(row[0][inside].tolist(), row[2][inside].tolist(), strict=True)
    return sorted(pair for pair in found if pair[1] >= 0)


def successors(texts):
    return sorted((a, b) for text in texts for a, b in pairwise([*text, END]))


@pytest.mark.parametrize("make", [lambda rows: rows, lambda rows: Packed(rows, 32)])
def test_every_token_but_the_first_is_a_target_once(texts, make):
    source = make(next_tokens(with_end(Ragged.of(texts), END)))
    for epoch in (elements(source, 32), elements(source, 32, seed=1)):
        assert pairs(epoch) == successors(texts)


def test_packed_rows_are_full_and_their_documents_whole(texts):
    ids, mask, _ = (
        np.concatenate(parts) for parts in zip(*elements(Packed(next_tokens(Ragged.of(texts)), 32), 32), strict=True)
    )
    assert (mask > 0).mean() > 0.9
    assert (mask.max(axis=1) > 1).any()
    for row, numbers in zip(ids, mask, strict=True):
        assert (np.diff(numbers[numbers > 0]) >= 0).all() and numbers[0] == 1
        for number in range(1, numbers.max() + 1):
            document = row[numbers == number]
            text = texts[document[0] // 1000]
            assert document.tolist() == text[:-1]


def test_packing_splits_what_is_longer_than_a_row():
    packed = Packed(next_tokens(Ragged.of([list(range(10, 21)), [30, 31]])), 4)
    rows = packed.sample()
    assert rows.token_ids.padded(4, PAD).tolist() == [[10, 11, 12, 13], [14, 15, 16, 17], [18, 19, 30, 0]]
    assert rows.labels.padded(4, -1).tolist() == [[11, 12, 13, 14], [15, 16, 17, 18], [19, 20, 31, -1]]
    assert rows.documents.padded(4, 0).tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 2, 0]]


def test_best_fit_takes_the_fullest_row_with_room():
    assert best_fit([7, 6, 5, 4, 3, 2, 1], 10).tolist() == [0, 1, 2, 1, 0, 2, 2]
    lengths = np.sort(np.random.default_rng(0).integers(1, 65, 2000))[::-1]
    used = np.bincount(best_fit(lengths, 64), lengths)
    assert used.max() <= 64 and len(used) <= 1.02 * lengths.sum() / 64


@pytest.mark.integration
def test_epochs_differ_and_follow_from_the_seed(texts):
    flat = with_end(Ragged.of(texts), END)
    for source in (Packed(next_tokens(flat), 16), Blocks(flat.tokens(), 16)):
        dataset, again = (batches(source, NextToken(100_000), 4, max_length=16, seed=3) for _ in range(2))
        epochs = [np.concatenate([np.array(x["token_ids"]) for x, _ in d]) for d in (dataset, dataset, again, again)]
        assert np.array_equal(epochs[0], epochs[2]) and np.array_equal(epochs[1], epochs[3])
        assert {row.tobytes() for row in epochs[0]} != {row.tobytes() for row in epochs[1]}


@pytest.mark.parametrize("kind", ["rows", "packed", "blocks"])
@pytest.mark.parametrize("steps", [1, 2])
def test_skipping_equals_going_on(texts, kind, steps):
    flat = with_end(Ragged.of(texts), END)
    rows = next_tokens(flat)
    source = {"rows": rows, "packed": Packed(rows, 32), "blocks": Blocks(flat.tokens(), 32)}[kind]
    whole, resumed = (batches(source, NextToken(100_000), 4, max_length=32, accumulation_steps=steps) for _ in "ab")
    expected = [[np.array(y) for _, y, *_ in whole] for _ in range(2)][1]
    resumed.position.epoch, resumed.position.batch = 1, 3
    got = [np.array(y) for _, y, *_ in resumed]
    assert len(got) == len(expected) - 3 > 0
    for one, other in zip(got, expected[3:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [2, 3, 16, 17, 18, 33, 100])
def test_blocks_without_shuffle_have_each_target_once_in_order(count):
    flat = np.arange(10, 10 + count)
    ids, mask, labels = (np.concatenate(p) for p in zip(*elements(Blocks(flat, 16), 16, shuffle=False), strict=True))
    assert labels[labels >= 0].tolist() == flat[1:].tolist()
    assert ids[mask > 0].tolist() == flat[:-1].tolist()
    assert (mask[labels >= 0] == 1).all() and (mask <= 1).all()


@pytest.mark.integration
def test_shuffled_blocks_go_around_the_text():
    flat = np.arange(100, 200)
    for seed in range(20):
        found = elements(Blocks(flat, 16), 16, seed=seed)
        assert sum((labels >= 0).sum() for _, _, labels in found) == 99
        circle = {(int(a), int(b)) for a, b in zip(flat, np.roll(flat, -1), strict=True)}
        assert len(set(pairs(found))) == 99 and set(pairs(found)) < circle


def test_source_by_packing(texts):
    ragged = Ragged.of(texts)
    for packing, kind in ((None, Rows), ("documents", Packed), ("blocks", Blocks)):
        assert isinstance(next_token_source(ragged, 32, packing=packing, end_id=END), kind)
    blocks = next_token_source(ragged, 32, packing="blocks", end_id=END)
    joined = [token for text in texts if text for token in [*text, END]]
    assert blocks.sample().labels.tokens().tolist() == joined[1:]
    assert next_token_source(ragged, 8).lengths.max() == 8


def test_packed_completions_are_the_completions(texts):
    inputs, targets = Ragged.of([text for text in texts if text]), Ragged.of([text[:5] for text in texts if text])
    with pytest.warns(UserWarning, match=r"\d+ of 5\d inputs were cut on the left, to fit in max_length=24"):
        source = next_token_source(inputs, 24, packing="documents", end_id=END, targets=targets)
        rows = next_token_source(inputs, 24, end_id=END, targets=targets)
    assert source.num_rows < rows.num_rows
    assert pairs(elements(source, 24)) == pairs(elements(rows, 24))


def test_errors():
    with pytest.raises(ValueError, match="packing='rows'"):
        next_token_source(Ragged.of([[2, 3]]), 4, packing="rows")
    with pytest.raises(ValueError, match='targets with packing="blocks"'):
        next_token_source(Ragged.of([[2, 3]]), 4, packing="blocks", targets=Ragged.of([[2]]))
    with pytest.raises(ValueError, match="at least 2"):
        Blocks(np.array([3]), 4)
    for packing in (None, "documents"):
        with pytest.raises(ValueError, match="0 rows"):
            elements(next_token_source(Ragged.of([[], [3]]), 4, packing=packing), 4)


@pytest.mark.integration
def test_packed_rows_and_blocks_are_padded_to_their_length_unless_asked_otherwise(texts):
    """Where the shape varied, XLA would compile for each."""
    flat = with_end(Ragged.of(texts[:3]), END)
    for source in (Packed(next_tokens(flat), 64), Blocks(flat.tokens()[:40], 64)):
        for options, width in (({}, 64), ({"buckets": (48, 60)}, None)):
            dataset = batches(source, NextToken(100_000), 4, max_length=64, shuffle=False, **options)
            assert dataset.element_spec[0]["token_ids"].shape[1] == width
    dataset = batches(next_tokens(flat), NextToken(100_000), 4, max_length=64)
    assert dataset.element_spec[0]["token_ids"].shape[1] is None
