import math

import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.text_infilling import TextInfilling
from keras_transformers.data.sources.rows import Rows

BEGIN, PAD, END, STOP, MASK, VOCABULARY = 0, 1, 2, 3, 999, 1000


def make(**options):
    return TextInfilling(VOCABULARY, MASK, BEGIN, END, start_id=END, pad_id=PAD, **options)


def test_the_target_is_the_text_and_the_source_has_its_begin_and_end():
    rows = [list(range(10, 30)), [7, 8]]
    inputs, labels = make()(Rows.of(rows, None), 20, np.random.default_rng(0))
    assert labels[0].tolist() == [BEGIN, *rows[0], END]
    assert labels[1].tolist() == [BEGIN, 7, 8, END] + [-1] * 18
    assert inputs["token_ids"][1].tolist() == [END, BEGIN, 7, 8] + [PAD] * 18
    assert inputs["encoder_token_ids"].shape == (2, 22)
    for row, mask in zip(inputs["encoder_token_ids"], inputs["encoder_padding_mask"], strict=True):
        row = row[mask > 0]
        assert row[0] == BEGIN and row[-1] == END and MASK in row


@pytest.mark.parametrize("length", [1, 2, 5, 40, 500])
def test_spans_make_up_the_budget_and_a_source_is_no_longer_than_its_text(length):
    objective, rng = make(), np.random.default_rng(0)
    text = np.arange(10, 10 + length)
    for _ in range(50):
        budget = math.ceil(0.3 * length)
        spans = objective.spans(budget, rng)
        assert spans.sum() == budget and spans[-1] > 0
        source = objective.masked(text, rng)
        kept = source[source != MASK]
        assert (np.diff(kept) > 0).all() and set(kept) <= set(text)
        assert length - budget <= kept.size < length
        assert len(source) <= length


def test_span_lengths_are_those_of_poisson():
    """All but the last, which is cut: e^-3 of them 0, 3 on average."""
    objective, rng = make(), np.random.default_rng(0)
    spans = np.concatenate([objective.spans(3000, rng)[:-1] for _ in range(10)])
    assert spans.mean() == pytest.approx(3, rel=0.03)
    assert (spans == 0).mean() == pytest.approx(math.exp(-3), abs=0.01)
    assert (spans == 3).mean() == pytest.approx(math.exp(-3) * 27 / 6, abs=0.01)


class Fixed:
    """Permutations that begin as given."""

    def __init__(self, *begins):
        self.begins = iter(begins)

    def permutation(self, number):
        begin = next(self.begins)
        return np.array([*begin, *(i for i in range(number) if i not in begin)])


@pytest.mark.parametrize(
    "starts, place, expected",
    [
        ([5, 2], [0], [MASK, 10, 11, MASK, 13, 14, MASK, 18, 19]),
        ([8, 0], [8], [MASK, 11, 12, 13, 14, 15, 16, 17, MASK, MASK]),  # cut by the end, the inserted one last
        ([2, 3], [1], [10, MASK, 11, MASK, 15, 16, 17, 18, 19]),  # one inside of another
    ],
)
def test_a_span_becomes_one_mask_and_an_empty_one_is_inserted(monkeypatch, starts, place, expected):
    objective = make()
    monkeypatch.setattr(objective, "spans", lambda tokens, rng: np.array([3, 0, 1]))
    assert objective.masked(np.arange(10, 20), Fixed(starts, place)).tolist() == expected


def test_sentences_are_mixed_as_in_fairseq():
    """The first full stop in a row ends a sentence; the end of the text does too."""
    text = np.array([10, STOP, 20, 21, STOP, STOP, 30, 31])
    objective = make(full_stop_ids=[STOP])
    seen = {tuple(objective.mixed(text, np.random.default_rng(seed)).tolist()) for seed in range(60)}
    sentences = [(10, STOP), (20, 21, STOP), (STOP, 30, 31)]
    assert len(seen) == 6
    assert seen == {a + b + c for a in sentences for b in sentences for c in sentences if len({a, b, c}) == 3}
    # The text ends with two: the last one belongs to no sentence, and stays.
    text = np.array([10, STOP, 20, STOP, STOP])
    seen = {tuple(objective.mixed(text, np.random.default_rng(seed)).tolist()) for seed in range(20)}
    assert seen == {(10, STOP, 20, STOP, STOP), (20, STOP, 10, STOP, STOP)}
    assert make().mixed(text, np.random.default_rng(0)) is text


def test_every_epoch_has_other_masks_and_can_be_repeated():
    rows = Rows.of([list(range(10, 20 + i)) for i in range(12)], None)

    def epochs():
        dataset = batches(rows, make(full_stop_ids=[15]), batch_tokens=128, max_length=32)
        return [[[np.asarray(part).tolist() for part in (x["encoder_token_ids"], y)] for x, y in dataset] for _ in "ab"]

    first, second = epochs()
    assert first != second
    assert epochs() == [first, second]


def test_errors():
    with pytest.raises(ValueError, match="rate=0"):
        make(rate=0)
    with pytest.raises(ValueError, match="mean_span=-1"):
        make(mean_span=-1)
    with pytest.raises(ValueError, match="from 2 to 1000: expected 0 to 999"):
        make().check(Rows.of([[2, 1000]], None))
