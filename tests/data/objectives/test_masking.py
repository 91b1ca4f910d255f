from itertools import pairwise

import numpy as np
import pytest

from keras_transformers.data.objectives.masking import MaskedLM, choose_words
from keras_transformers.data.sources.rows import Rows

SPECIAL = 5  # ids below are special


@pytest.fixture
def masked(tokenizer, id_rows):
    """Original ids (B, T) and the masked batch of 400 rows."""

    def make(seed=0, **options):
        rows = Rows.of(id_rows(400, longest=64))
        inputs, labels = MaskedLM(tokenizer, **options)(rows, 64, np.random.default_rng(seed))
        return rows.padded(64, 0)["token_ids"], inputs, labels

    return make


@pytest.mark.parametrize("whole_word", [False, True])
def test_labels_are_the_original_ids_at_the_positions(masked, whole_word):
    original, inputs, labels = masked(whole_word=whole_word)
    real = labels >= 0
    at_positions = np.take_along_axis(original, inputs["mask_positions"], axis=1)
    assert (labels[real] == at_positions[real]).all()
    assert (labels[real] >= SPECIAL).all()
    changed = original != inputs["token_ids"]
    hidden = np.zeros_like(changed)
    hidden[np.nonzero(real)[0], inputs["mask_positions"][real]] = True
    assert not changed[~hidden].any(), "a token changed that is no target"
    assert (inputs["mask_positions"][~real] == 0).all()


def test_rate_and_number_of_slots(masked):
    original, inputs, labels = masked()
    ordinary = (original >= SPECIAL).sum(axis=1)
    assert ((labels >= 0).sum(axis=1) == np.maximum(1, np.rint(0.15 * ordinary))).all()
    assert labels.shape == inputs["mask_positions"].shape == (400, 10)


def test_eighty_ten_ten(masked, tokenizer):
    _, inputs, labels = masked()
    real = labels >= 0
    now = np.take_along_axis(inputs["token_ids"], inputs["mask_positions"], axis=1)[real]
    is_mask, is_same = now == tokenizer.mask_id, now == labels[real]
    deviation = 4 * np.sqrt(0.8 * 0.2 / real.sum())
    assert abs(is_mask.mean() - 0.8) < deviation
    assert abs(is_same.mean() - 0.1) < deviation
    randoms = now[~is_mask & ~is_same]
    assert (randoms >= SPECIAL).all()
    assert len(np.unique(randoms)) > 60


def test_whole_words_are_chosen_or_left_as_a_whole(tokenizer):
    # Words of 1, 2 and 3 pieces; ids from 60 continue.
    words = [[10], [11, 61], [12, 62, 63]]
    order = np.random.default_rng(0).integers(3, size=(200, 12))
    lists = [[2, *(piece for w in row for piece in words[w]), 3] for row in order]
    rows = Rows.of(lists)
    inputs, labels = MaskedLM(tokenizer, rate=0.3, whole_word=True)(rows, 64, np.random.default_rng(1))
    sizes = set()
    for ids, positions, targets in zip(lists, inputs["mask_positions"], labels, strict=True):
        chosen = set(positions[targets >= 0].tolist())
        starts = [i for i, token in enumerate(ids) if token < 60] + [len(ids)]
        for begin, end in pairwise(starts):
            inside = chosen & set(range(begin, end))
            assert len(inside) in (0, end - begin)
            sizes.add(len(inside))
        assert len(chosen) <= max(1, round(0.3 * (len(ids) - 2)))
    assert sizes == {0, 1, 2, 3}


def test_pieces_are_chosen_one_by_one_without_whole_word(masked):
    original, inputs, labels = masked()
    rows, slots = np.nonzero(labels >= 60)
    before = inputs["mask_positions"][rows, slots] - 1
    chosen = [(row, position) for row, position in zip(rows, before, strict=True) if original[row, position] >= SPECIAL]
    targets = {(r, inputs["mask_positions"][r, s]) for r, s in zip(*np.nonzero(labels >= 0), strict=True)}
    assert any(place not in targets for place in chosen)


def test_a_continuation_after_a_special_token_is_its_own_word():
    candidates = np.array([[False, True, True, False, True]])
    continuation = np.array([[False, True, False, False, True]])
    picks = np.array(
        [choose_words(candidates, continuation, np.array([1]), np.random.default_rng(s)) for s in range(99)]
    )
    assert sorted(map(tuple, np.unique(picks[:, 0], axis=0).astype(int).tolist())) == [
        (0, 0, 0, 0, 1),
        (0, 0, 1, 0, 0),
        (0, 1, 0, 0, 0),
    ]


def test_every_token_is_chosen_equally_often():
    candidates = np.ones((20_000, 10), bool)
    chosen = choose_words(candidates, ~candidates, np.full(20_000, 2), np.random.default_rng(0))
    assert (chosen.sum(axis=1) == 2).all()
    assert np.abs(chosen.mean(axis=0) - 0.2).max() < 4 * np.sqrt(0.16 / 20_000)


def test_rows_of_special_tokens_only_have_no_target(tokenizer):
    inputs, labels = MaskedLM(tokenizer)(Rows.of([[2, 3], [2, 1, 3]]), 16, np.random.default_rng(0))
    assert (labels == -1).all()
    assert inputs["token_ids"][:, :3].tolist() == [[2, 3, 0], [2, 1, 3]]


def test_errors(tokenizer):
    with pytest.raises(ValueError, match=r"rate=1\.5"):
        MaskedLM(tokenizer, rate=1.5)
    with pytest.raises(ValueError, match="expected 0 to 99"):
        MaskedLM(tokenizer).check(Rows.of([[2, 100, 3]]))
    with pytest.raises(ValueError, match="from -1"):
        MaskedLM(tokenizer).check(Rows.of([[2, -1, 3]]))
