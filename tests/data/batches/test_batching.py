import re
from dataclasses import replace

import numpy as np
import pytest

from keras_transformers.data.batches.batching import Batching
from keras_transformers.data.batches.window import Window, weighted
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.sources.rows import Rows

SETTINGS = Batching(
    batch_size=8,
    seed=0,
    shuffle=True,
    max_length=40,
    buckets=(16, 32, 64),
    accumulation_steps=1,
    drop_remainder=False,
)


def plan(lengths, epoch=0, **changes):
    batching = replace(SETTINGS, **changes)
    return batching.plan(np.asarray(lengths), batching.rng(epoch))


@pytest.mark.parametrize("changes", [{}, {"shuffle": False}, {"accumulation_steps": 3}, {"batch_size": 7}])
@pytest.mark.parametrize("count", [3, 48, 100, 1000])
def test_every_row_once_in_as_many_batches_as_announced(changes, count):
    batches = plan(np.arange(count) % 37, **changes)
    assert sorted(np.concatenate(batches)) == list(range(count))
    assert len(batches) == replace(SETTINGS, **changes).num_batches(np.zeros(count))


@pytest.mark.parametrize("steps", [1, 3])
def test_drop_remainder_leaves_full_batches_only(steps):
    batches = plan(np.ones(100), drop_remainder=True, accumulation_steps=steps)
    assert {len(batch) for batch in batches} == {8}
    assert (
        len(batches)
        == 12
        == replace(SETTINGS, drop_remainder=True, accumulation_steps=steps).num_batches(np.zeros(100))
    )


def test_rows_too_few_for_the_micro_batches_are_left_out():
    assert plan(np.ones(2), accumulation_steps=3) == []
    assert sum(map(len, plan(np.ones(26), accumulation_steps=3))) == 24


def test_the_rest_is_dealt_evenly_to_micro_batches():
    assert [len(batch) for batch in plan(np.ones(24 + 11), accumulation_steps=3)] == [8, 8, 8, 4, 4, 3]


def test_order_is_kept_without_shuffle():
    assert np.concatenate(plan([9, 1, 5] * 20, shuffle=False)).tolist() == list(range(60))


def test_shuffled_batches_hold_rows_of_like_length():
    lengths = np.random.default_rng(0).integers(1, 500, 10_000)
    settings = {"max_length": 500, "buckets": range(10, 500, 10)}
    spread = np.mean([np.ptp(lengths[batch]) for batch in plan(lengths, **settings)])
    assert spread < 30 < np.mean([np.ptp(lengths[batch]) for batch in plan(lengths, shuffle=False)])
    # ... yet short batches do not come before long ones.
    means = [lengths[batch].mean() for batch in plan(lengths[:400], **settings)]
    assert abs(np.corrcoef(means, np.arange(50))[0, 1]) < 0.5


def test_a_small_set_has_other_batches_every_epoch():
    lengths = np.arange(1, 11)
    batches = {tuple(sorted(batch)) for epoch in range(200) for batch in plan(lengths, epoch, batch_size=2)}
    assert len(batches) == 45  # all pairs


def test_to_sort_by_bucket_pads_no_more_than_to_sort_by_length():
    lengths = np.random.default_rng(0).integers(1, 41, 400)  # one window

    def widths(batches):
        return sorted(np.searchsorted(SETTINGS.widths, lengths[batch].max()) for batch in batches)

    assert widths(plan(lengths)) == widths(np.argsort(lengths).reshape(-1, 8))


def test_both_sides_of_pairs_are_sorted():
    sources = np.tile([5, 30], 200)
    lengths = np.stack([sources, np.full(400, 40)], axis=1)
    assert {len(set(sources[batch])) for batch in plan(lengths)} == {1}


def test_plans_follow_from_seed_and_epoch():
    def flat(**changes):
        return np.concatenate(plan(np.arange(100), **changes)).tolist()

    assert flat(epoch=3) == flat(epoch=3)
    assert flat(epoch=3) != flat(epoch=4)
    assert flat(epoch=3) != flat(epoch=3, seed=1)


def test_batches_are_padded_to_the_next_bucket(id_rows):
    window = Window(Rows.of(id_rows(200)), Classification(2), SETTINGS, epoch=0)
    assert SETTINGS.widths.tolist() == [16, 32, 40]
    widths = set()
    for indices, (inputs,) in zip(window.plan, map(window.__getitem__, range(len(window))), strict=True):
        width, longest = inputs["token_ids"].shape[1], window.rows.lengths[indices].max()
        assert width == min(w for w in (16, 32, 40) if w >= longest)
        widths.add(width)
    assert widths == {16, 32, 40}


def test_no_buckets_is_fixed_padding(id_rows):
    window = Window(Rows.of(id_rows(50)), Classification(2), replace(SETTINGS, buckets=()), epoch=0)
    assert {window[i][0]["token_ids"].shape[1] for i in range(len(window))} == {40}


def test_weights_make_the_mean_of_micro_batches_the_loss_of_the_macro_batch(id_rows, tokenizer):
    settings = replace(SETTINGS, accumulation_steps=3)
    window = Window(Rows.of(id_rows(35)), MaskedLM(tokenizer), settings, epoch=0)
    rng = np.random.default_rng(0)
    for start in range(0, len(window), 3):
        losses, counts, micro = [], [], []
        for _, labels, weights in (window[start + i] for i in range(3)):
            loss, real = rng.random(labels.shape), labels >= 0
            losses.append(loss[real].sum())
            counts.append(real.sum())
            micro.append((loss * weights)[real].sum() / real.sum())
        assert np.mean(micro) == pytest.approx(sum(losses) / sum(counts), rel=1e-6)


def test_weights_have_the_structure_of_the_labels():
    x = {"token_ids": np.zeros((2, 4))}
    masked, sentence = np.array([[5, -1], [-1, -1]]), np.array([0, 1])
    more = np.array([[5, 6], [7, -1]])
    group = weighted([(x, {"m": masked, "s": sentence}), (x, {"m": more, "s": sentence})])
    assert group[0][2]["m"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert group[1][2]["m"].tolist() == [[1.5, 1.5], [1.5, 1.5]]
    assert group[0][2]["s"].tolist() == [1, 1]
    floats = weighted([(x, np.zeros((3, 2), np.float32)), (x, np.zeros((1, 2), np.float32))])
    assert [w.tolist() for _, _, w in floats] == [[1.5, 1.5, 1.5], [0.5]]


def test_weights_without_labels():
    with pytest.raises(ValueError, match="rows without labels"):
        weighted([({},), ({},)])


OUT_OF_RANGE = [
    ("batch_size", 0), ("batch_size", 8.0), ("batch_size", True), ("batch_size", "8"), ("max_length", 0),
    ("accumulation_steps", 0), ("accumulation_steps", 1.0), ("seed", -1), ("seed", 0.0), ("seed", False),
    ("seed", None),
    ("buckets", (16, 0)), ("buckets", (16.0,)), ("buckets", ("16",)), ("shuffle", "False"), ("shuffle", 1),
    ("drop_remainder", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_settings_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"{name}={re.escape(repr(value))}: expected"):
        replace(SETTINGS, **{name: value})


def test_numbers_of_numpy_are_numbers():
    found = replace(
        SETTINGS, batch_size=np.int64(8), seed=np.uint8(3), shuffle=np.True_, accumulation_steps=np.array(1)
    )
    assert found.batch_size == 8 and type(found.batch_size) is type(found.accumulation_steps) is int


def test_a_row_that_is_too_long():
    with pytest.raises(ValueError, match="41 tokens, more than max_length=40"):
        Window(Rows.of([[1] * 41]), Classification(2), SETTINGS, epoch=0)
