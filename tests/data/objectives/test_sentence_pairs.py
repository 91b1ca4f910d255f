import numpy as np
import pytest

from keras_transformers.data.objectives.sentence_pairs import Pretraining, SentencePairs, truncation
from keras_transformers.data.sources.documents import Documents

CLS, SEP = 2, 3


@pytest.fixture(scope="module")
def documents():
    """Six documents of sentences of 1-9 tokens; the tokens count up, so that a run shows where it comes from."""
    rng = np.random.default_rng(0)
    count, made = iter(range(10, 10**6)), []
    for _ in range(6):
        made.append([[next(count) for _ in range(rng.integers(1, 10))] for _ in range(300)])
    return Documents.of(made)


def segments(rows):
    """The two segments of each row, checked for their special tokens."""
    for i in range(rows.num_rows):
        ids = rows.token_ids[np.array([i])].padded(rows.lengths[i], 0)[0]
        kinds = rows.segment_ids[np.array([i])].padded(rows.lengths[i], 9)[0]
        first, second = ids[kinds == 0], ids[kinds == 1]
        assert first[0] == CLS and first[-1] == SEP and second[-1] == SEP
        assert (np.diff(kinds) >= 0).all()
        yield first[1:-1], second[:-1]


def document_of(documents, token):
    return np.searchsorted([documents.sentences[s] + 10 for s in documents.starts], token, side="right") - 1


def test_pairs_are_runs_of_text_that_follow_each_other_or_come_from_elsewhere(documents, tokenizer):
    rows = SentencePairs(documents, tokenizer, max_length=32).draw(np.random.default_rng(0))
    for (first, second), is_random in zip(segments(rows), rows.labels, strict=True):
        assert len(first) and len(second) and len(first) + len(second) <= 29
        assert (np.diff(first) == 1).all() and (np.diff(second) == 1).all()
        same = document_of(documents, first[0]) == document_of(documents, second[0])
        assert same != is_random
        # What lies between is only what truncation took from the end of the first or the front of the second.
        assert is_random or 1 <= second[0] - first[-1] <= 2 * 29


def test_untruncated_pairs_are_consecutive(documents, tokenizer):
    # Pairs that are cut have the full length: all others must join exactly, at a sentence's start.
    rows = SentencePairs(documents, tokenizer, max_length=32, short_probability=1.0).draw(np.random.default_rng(0))
    starts = {at + 10 for at in documents.sentences}
    seen = 0
    for (first, second), is_random in zip(segments(rows), rows.labels, strict=True):
        if len(first) + len(second) < 29:
            seen += 1
            assert first[0] in starts and second[0] in starts
            assert is_random or second[0] == first[-1] + 1
    assert seen > 100


def test_sentences_displaced_by_a_random_segment_are_used_again(documents, tokenizer):
    pairs = SentencePairs(documents, tokenizer, max_length=32)
    ranges = list(pairs._document_pairs(2, np.random.default_rng(0)))
    first, last = (documents.sentences[documents.starts[d]] for d in (2, 3))
    reached = [end_a if is_random else end_b for _, end_a, _, end_b, is_random in ranges]
    assert [begin for begin, *_ in ranges] == [first, *reached[:-1]]
    assert reached[-1] == last


def test_truncation_cuts_both_ends_alike(documents, tokenizer):
    rows = SentencePairs(documents, tokenizer, max_length=16, short_probability=0.0).draw(np.random.default_rng(0))
    starts = {at + 10 for at in documents.sentences}
    cut = np.array([[a[0] not in starts, a[-1] + 1 not in starts] for a, _ in segments(rows)])
    front, back = cut.sum(axis=0)
    assert min(front, back) > 100
    assert abs(front - back) < 4 * np.sqrt(front + back)


def test_half_of_the_pairs_are_random(documents, tokenizer):
    pairs = SentencePairs(documents, tokenizer, max_length=64, short_probability=0.0)
    labels = np.concatenate([pairs.draw(np.random.default_rng(seed)).labels for seed in range(10)])
    # A few documents end in a single sentence, which is always joined with a random one.
    assert abs(labels.mean() - 0.5) < 4 * np.sqrt(0.25 / len(labels)) + 60 / len(labels)


def test_one_pass_covers_every_document(documents, tokenizer):
    rows = SentencePairs(documents, tokenizer, max_length=32).draw(np.random.default_rng(0))
    firsts = np.concatenate([first for first, _ in segments(rows)])
    counts = np.bincount(document_of(documents, firsts), minlength=6)
    assert counts.min() > 0.5 * counts.max()


def test_short_probability_shortens(documents, tokenizer):
    long, short = (
        SentencePairs(documents, tokenizer, max_length=64, short_probability=p).draw(np.random.default_rng(0)).lengths
        for p in (0.0, 1.0)
    )
    assert long.max() == short.max() == 64
    assert long.mean() > 60 > 50 > short.mean()


def test_epochs_have_the_same_size_and_other_pairs(documents, tokenizer):
    pairs = SentencePairs(documents, tokenizer, max_length=32)
    one, two, again = (pairs.draw(np.random.default_rng(seed)) for seed in (1, 2, 1))
    assert one.num_rows == two.num_rows == pairs.num_rows
    assert one.token_ids.flat.tolist() == again.token_ids.flat.tolist()
    assert one.token_ids.flat[:200].tolist() != two.token_ids.flat[:200].tolist()


def test_truncation_equals_the_loop_of_the_release():
    def loop(first, second, limit):
        cut = [0, 0]
        while first + second - sum(cut) > limit:
            cut[int(first - cut[0] <= second - cut[1])] += 1
        return tuple(cut)

    first, second = (axis.ravel() for axis in np.meshgrid(np.arange(1, 15), np.arange(1, 15)))
    for limit in (2, 7, 8, 20):
        cuts = zip(*truncation(first, second, limit), strict=True)
        assert [tuple(cut) for cut in cuts] == [loop(a, b, limit) for a, b in zip(first, second, strict=True)]


def test_objective_names_its_labels(tokenizer):
    documents = Documents.of([[[10, 11], [12]], [[20], [21, 22]]])
    rows = SentencePairs(documents, tokenizer, max_length=16).draw(np.random.default_rng(0))
    inputs, labels = Pretraining(tokenizer)(rows, 16, np.random.default_rng(0))
    assert set(inputs) == {"token_ids", "segment_ids", "padding_mask", "mask_positions"}
    assert labels["masked_lm_logits"].shape == inputs["mask_positions"].shape == (rows.num_rows, 2)
    assert labels["next_sentence_logits"].tolist() == rows.labels.tolist()


def test_too_short(documents, tokenizer):
    with pytest.raises(ValueError, match="max_length=4"):
        SentencePairs(documents, tokenizer, max_length=4)
