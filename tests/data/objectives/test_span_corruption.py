import re

import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.span_corruption import SpanCorruption
from keras_transformers.data.sources.packing import Blocks
from keras_transformers.data.sources.rows import Ragged, Rows

END, START, VOCABULARY = 1, 0, 200
SENTINELS = list(range(199, 99, -1))


def make(**options):
    return SpanCorruption(VOCABULARY, SENTINELS, END, START, **options)


def unpadded(inputs, labels):
    """(source, target) of every row, as lists."""
    sources = zip(inputs["encoder_token_ids"], inputs["encoder_padding_mask"], strict=True)
    return [(ids[mask > 0].tolist(), row[row >= 0].tolist()) for (ids, mask), row in zip(sources, labels, strict=True)]


def restored(source, target):
    """The text: the spans of the target in the place of their sentinels in the source."""
    assert source.pop() == target.pop() == END
    text = " ".join(map(str, target))
    spans = dict(re.findall(r"\b(1\d\d)((?: \d{1,2}\b)*)", text))
    return [int(i) for token in source for i in (spans.pop(str(token)).split() if token >= 100 else [token])], spans


def test_lengths_are_those_of_the_release():
    """`random_spans_helper` of T5: 512 tokens of source come from 568 of text, and give 114 of target."""
    assert make().lengths(568) == (512, 114)
    assert make().lengths(569)[0] > 512
    assert make(rate=0.5).lengths(100) == (50 + 17 + 1, 50 + 17 + 1)
    assert make().counts(100) == (15, 5)
    assert make().counts(1) == make().counts(2) == (1, 1)


@pytest.mark.parametrize("options", [{}, {"rate": 0.5}, {"rate": 0.9, "mean_span": 1}, {"mean_span": 10}])
@pytest.mark.parametrize("length", [1, 2, 3, 10, 37, 200])
def test_source_and_target_make_up_the_text(options, length):
    objective, rng = make(**options), np.random.default_rng(0)
    rows = [rng.integers(2, 100, length).tolist() for _ in range(20)]
    inputs, labels = objective(Rows.of(rows, None), length, rng)
    widths = objective.lengths(length)
    assert inputs["encoder_token_ids"].shape == (20, widths[0]) and labels.shape == (20, widths[1])
    for row, (source, target) in zip(rows, unpadded(inputs, labels), strict=True):
        assert length == 1 or (len(source), len(target)) == widths
        used = [token for token in source if token >= 100]
        assert used == SENTINELS[: len(used)]
        assert [token for token in target if token >= 100][: len(used)] == used
        text, left = restored(source, target)
        assert text == row
        assert not any(left.values())


def test_teacher_forcing_starts_with_the_start_token():
    inputs, labels = make()(Rows.of([range(2, 60)], None), 58, np.random.default_rng(0))
    assert inputs["token_ids"][0].tolist() == [START, *labels[0, :-1].tolist()]


@pytest.mark.integration
def test_all_masks_are_as_likely():
    objective, rng = make(rate=0.4, mean_span=1), np.random.default_rng(0)
    drawn = [tuple(objective.mask(5, rng).tolist()) for _ in range(4000)]
    masks, counts = np.unique(drawn, axis=0, return_counts=True)
    # Two spans of one token, and 3 ordinary tokens in two parts: 1 + 2 or 2 + 1. A row ends with a missing token.
    assert masks.tolist() == [[False, False, True, False, True], [False, True, False, False, True]]
    assert counts / 4000 == pytest.approx([0.5, 0.5], abs=0.03)


def test_rate_and_mean_span():
    objective, rng = make(), np.random.default_rng(0)
    mask = np.stack([objective.mask(500, rng) for _ in range(100)])
    assert mask.mean() == pytest.approx(0.15)
    starts = mask & ~np.roll(mask, 1, axis=1)
    assert mask.sum() / starts.sum() == pytest.approx(3)
    # The ends apart, each place is as often missing as another.
    assert np.abs(mask[:, 20:-20].mean(axis=0).reshape(-1, 20).mean(axis=1) - 0.15).max() < 0.05


@pytest.mark.integration
def test_every_epoch_has_other_spans_and_can_be_repeated():
    def epochs(seed=0):
        dataset = batches(Blocks(np.arange(2, 90), 16), make(), 2, max_length=16, buckets=(), shuffle=True, seed=seed)
        return [[np.asarray(x["encoder_token_ids"]).tolist() for x, _ in dataset] for _ in range(2)]

    first, second = epochs()
    assert first != second
    assert epochs() == [first, second]
    assert epochs(seed=1)[0] != first


def test_batches_by_token_count():
    rows = Rows(Ragged.of([[2] * n for n in range(1, 60)]))
    shapes = [np.shape(x["encoder_token_ids"]) for x, _ in batches(rows, make(), batch_tokens=256, max_length=64)]
    assert sum(rows for rows, _ in shapes) == 59
    assert max(rows * width for rows, width in shapes) <= 256 + 64


def test_errors():
    with pytest.raises(ValueError, match="rate=1"):
        make(rate=1)
    with pytest.raises(ValueError, match="mean_span=0"):
        make(mean_span=0)
    with pytest.raises(ValueError, match="100 sentinels for 105 spans in a row of 2100 tokens"):
        make().check(Rows.of([[2] * 2100], None))
    with pytest.raises(ValueError, match="from 2 to 200: expected 0 to 199"):
        make().check(Rows.of([[2, 200]], None))
    with pytest.raises(ValueError, match="row 1 is empty"):
        make().check(Rows.of([[2], []], None))
