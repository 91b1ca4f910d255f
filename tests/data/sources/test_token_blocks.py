"""Blocks of a file of tokens: each token once, drawn across the file, begun at any batch, in flat memory."""

from itertools import chain

import numpy as np
import pytest

from keras_transformers.data.batches.batching import Batching
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.corpus.token_file import TOKENS, Description, TokenFile, token_dtype, tokens_digest
from keras_transformers.data.objectives.next_token import NextToken
from keras_transformers.data.sources.packing import Blocks
from keras_transformers.data.sources.token_blocks import TokenBlocks, UnreadBlocks

VOCABULARY = 60_000


@pytest.fixture
def token_file(tmp_path):
    def make(count: int, name: str = "train", first: int = 10) -> TokenFile:
        folder, dtype = tmp_path / name, token_dtype(VOCABULARY)
        folder.mkdir()
        np.arange(first, first + count).astype(dtype).tofile(folder / TOKENS)
        Description(count, 5 * count, VOCABULARY, tokens_digest(folder / TOKENS, dtype), "b").write(folder)
        return TokenFile.open(folder)

    return make


def batching(batch_size=4, shuffle=True, max_length=8, **options):
    settings = {"seed": 0, "buckets": (), "accumulation_steps": 1, "drop_remainder": False, **options}
    return Batching(batch_size=batch_size, shuffle=shuffle, max_length=max_length, **settings)


def rows_of(rows, column="token_ids") -> list[list[int]]:
    ragged = getattr(rows[:] if isinstance(rows, UnreadBlocks) else rows, column)
    return [
        ragged.flat[start : start + size].tolist() for start, size in zip(ragged.starts, ragged.lengths, strict=True)
    ]


@pytest.mark.parametrize("count", [2, 7, 8, 9, 10, 100])
def test_in_order_they_are_the_blocks_of_the_tokens_in_memory(token_file, count):
    blocks, expected = TokenBlocks(token_file(count), 8, next_tokens=True), Blocks(np.arange(10, 10 + count), 8)
    ((first, rows),) = blocks.windows(batching(shuffle=False), 0, 0)
    assert first == 0 and blocks.num_rows == expected.num_rows
    for column in ("token_ids", "labels"):
        assert rows_of(rows, column) == rows_of(expected.sample(), column)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("begin", [[], [1], [1, 2]])
@pytest.mark.parametrize("count", [2, 3, 9, 50, 51])
def test_each_token_is_a_label_once(token_file, count, begin, shuffle):
    blocks = TokenBlocks(token_file(count), 8, begin_ids=begin, next_tokens=True)
    labels, inputs = [], []
    for _, rows in blocks.windows(batching(shuffle=shuffle), 3, 0):
        for ids, targets in zip(rows_of(rows), rows_of(rows, "labels"), strict=True):
            assert len(ids) == len(targets) <= 8 and ids[: len(begin)] == begin
            following = [*ids[1:], targets[-1]]
            assert all(target in (-1, real) for target, real in zip(targets, following, strict=True))
            labels += [target for target in targets if target >= 0]
            inputs += ids[len(begin) :]
    assert len(labels) == len(set(labels)) == count - (not begin)
    assert len(inputs) == len(set(inputs))


@pytest.mark.parametrize("count", [1, 5, 6, 7, 100])
def test_blocks_between_special_tokens(token_file, count):
    blocks = TokenBlocks(token_file(count), 8, begin_ids=[2], end_ids=[3], segment=0)
    seen = []
    for _, rows in blocks.windows(batching(), 1, 0):
        for ids, segments in zip(rows_of(rows), rows_of(rows, "segment_ids"), strict=True):
            assert (ids[0], ids[-1], set(segments)) == (2, 3, {0}) and len(segments) == len(ids) <= 8
            seen += ids[1:-1]
    assert sorted(seen) == list(range(10, 10 + count))


def test_they_are_drawn_across_the_whole_file_anew_in_each_epoch(token_file, monkeypatch):
    monkeypatch.setattr("keras_transformers.data.sources.token_blocks.WINDOW", 64)
    blocks = TokenBlocks(token_file(8000), 8)
    epochs = []
    for epoch in range(2):
        windows = [[row[0] for row in rows_of(rows)] for _, rows in blocks.windows(batching(), epoch, 0)]
        assert len(windows) == 125
        assert all(max(window) - min(window) > 2000 for window in windows)  # not neighbours
        epochs.append(list(chain.from_iterable(windows)))
    assert epochs[0] != epochs[1] and {begin % 8 for begin in epochs[0][:9]} != {begin % 8 for begin in epochs[1][:9]}
    again = [row[0] for _, rows in blocks.windows(batching(), 0, 0) for row in rows_of(rows)]
    assert again == epochs[0]
    assert epochs[0] != [row[0] for _, rows in blocks.windows(batching(seed=1), 0, 0) for row in rows_of(rows)]


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"accumulation_steps": 3}, {"drop_remainder": True}, {"shuffle": False}])
@pytest.mark.parametrize("window", [1, 100, 1 << 20])
def test_an_epoch_can_begin_at_any_batch(token_file, monkeypatch, options, window):
    monkeypatch.setattr("keras_transformers.data.sources.token_blocks.WINDOW", window)
    blocks = TokenBlocks(token_file(1000), 8, next_tokens=True)
    dataset = batches(blocks, NextToken(VOCABULARY), 4, max_length=8, **options)
    whole = [x["token_ids"].numpy().tolist() for x, *_ in dataset]
    assert len(whole) == dataset.num_batches
    for skip in (1, 4, 7, 8, dataset.num_batches - 1):
        dataset.position.epoch, dataset.position.batch = 0, skip
        assert [x["token_ids"].numpy().tolist() for x, *_ in dataset] == whole[skip:]


def test_what_is_skipped_is_not_read(token_file, monkeypatch):
    monkeypatch.setattr("keras_transformers.data.sources.token_blocks.WINDOW", 64)
    blocks, drawn = TokenBlocks(token_file(8000), 8), []
    monkeypatch.setattr(blocks, "draw", lambda order, offset: drawn.append(len(order)))
    first, rows = next(blocks.windows(batching(), 0, 201))
    assert first == 200 and rows.num_rows == len(rows.lengths) == 8 and not drawn
    assert rows[np.arange(3)] is None and drawn == [3]


def test_the_identity_tells_the_tokens_without_reading_all(token_file, monkeypatch):
    file = token_file(100_000)
    blocks = TokenBlocks(file, 8, next_tokens=True)
    assert blocks.sample().num_rows == 64
    identities = [
        batches(TokenBlocks(*arguments, next_tokens=True, **options), NextToken(VOCABULARY), 4, max_length=8).identity()
        for arguments, options in [
            ((file, 8), {}), ((TokenFile.open(file.folder), 8), {}), ((file, 8), {"begin_ids": [1]}),
            ((token_file(100_000, "b", first=11), 8), {}), ((token_file(100_001, "c"), 8), {}),
        ]
    ]  # fmt: skip
    assert identities[0] == identities[1]
    assert len({str(identity) for identity in identities}) == 4


def test_by_token_count_is_refused(token_file):
    with pytest.raises(ValueError, match=r"batch_tokens=64 for TokenBlocks, .*use batch_size, such as 8"):
        batches(TokenBlocks(token_file(100), 8), NextToken(VOCABULARY), batch_tokens=64, max_length=8)


def test_a_vocabulary_too_small_is_refused(token_file):
    with pytest.raises(ValueError, match=r"expected 0 to 49"):
        batches(TokenBlocks(token_file(100), 8, next_tokens=True), NextToken(50), 4, max_length=8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 2, "begin_ids": [1], "end_ids": [2]}, r"max_length=2 leaves no room beside 2 ids"),
        ({"max_length": 8, "end_ids": [2], "next_tokens": True}, r"Received next_tokens=True and end_ids"),
    ],
)
def test_settings_are_checked(token_file, options, message):
    with pytest.raises(ValueError, match=message):
        TokenBlocks(token_file(100), **options)


@pytest.mark.parametrize("shuffle", [False, True])
def test_on_jax_the_batches_are_the_same(token_file, monkeypatch, shuffle):
    monkeypatch.setattr("keras_transformers.data.sources.token_blocks.WINDOW", 64)
    blocks = TokenBlocks(token_file(1000), 8, next_tokens=True)
    options = {"max_length": 8, "shuffle": shuffle, "steps_per_epoch": 9}
    expected = batches(blocks, NextToken(VOCABULARY), 4, **options)
    with monkeypatch.context() as patch:
        patch.setattr("keras.backend.backend", lambda: "jax")
        sequence = batches(blocks, NextToken(VOCABULARY), 4, **options)
    for _ in range(5):
        sequence.on_epoch_begin()
        assert len(sequence) == 9
        for (x, y), (inputs, labels) in zip(expected, [sequence[index] for index in range(9)], strict=True):
            assert np.array_equal(x["token_ids"], inputs["token_ids"]) and np.array_equal(y, labels)


@pytest.mark.parametrize("options", [{}, {"begin_ids": [1]}, {"begin_ids": [1, 2]}])
@pytest.mark.parametrize("count", [2, 9, 50, 51])
def test_lengths_are_known_before_rows_are_read(token_file, count, options):
    for next_tokens, more in ((True, {}), (False, {"end_ids": [3]})):
        blocks = TokenBlocks(token_file(count, f"{next_tokens}"), 8, next_tokens=next_tokens, **options, **more)
        for _, rows in blocks.windows(batching(), 1, 0):
            assert rows.lengths.tolist() == [len(row) for row in rows_of(rows)]


def test_a_token_that_is_not_in_the_vocabulary_is_told_where_its_batch_is_made(token_file):
    dataset = batches(TokenBlocks(token_file(1000), 8, next_tokens=True), NextToken(900), 4, max_length=8)
    with pytest.raises(Exception, match=r"expected 0 to 899"):
        list(dataset)
