"""Rows of like length are answered together, in chunks, and answers come in the order of the rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise

import numpy as np
import pytest
import questions
import tiny

from keras_transformers.tasks.answers.by_length import (
    Limits,
    ahead,
    answer_chunks,
    batches_of,
    chunk_sizes,
    read_chunks,
    token_counts,
)
from keras_transformers.tasks.answers.progress import Progress

TEXTS = ["a fine film " * (1 + 7 * number % 5) for number in range(23)]


@pytest.fixture(scope="module")
def task():
    """A classifier that answers without a trace."""
    return questions.untraced(tiny.classifier())


def lengths(rows):
    return np.array([len(text) for text, *_ in rows])


def test_the_longest_rows_come_first_and_answers_in_order():
    batches = []

    def answer(rows):
        batches.append([text for (text,) in rows])
        return batches[-1]

    words = ["aa", "a", "aaaa", "b", "aaa"]
    assert [*answer_chunks([[(word,) for word in words]], answer, lengths, Limits(2), Progress(0))] == words
    assert batches == [["aaaa", "aaa"], ["aa", "a"], ["b"]]


@pytest.mark.parametrize("length", [np.inf, 40])
@pytest.mark.parametrize("padding", [0, 30, np.inf])
def test_a_batch_has_no_more_padding_than_allowed(padding, length):
    """Of rows that the model cuts, only what it reads counts; the next row would have been too much."""
    sizes, rows = np.random.default_rng(0).integers(1, 90, 200), 16
    batches = [*batches_of(sizes, Limits(rows, padding, length))]
    assert sorted(row for batch in batches for row in batch) == [*range(200)]

    def padded(batch):
        read = np.minimum(sizes[batch], length)
        return len(batch) * read[0] - read.sum()

    for batch, following in pairwise([*batches, []]):
        assert padded(batch) <= padding and len(batch) <= rows
        assert sizes[batch].tolist() == sorted(sizes[batch], reverse=True)
        assert not following or len(batch) == rows or padded([*batch, following[0]]) > padding


@pytest.mark.parametrize(("labels", "expected"), [(1, [3]), (2, [2, 1]), (10, [1, 1, 1])])
def test_padding_counts_once_for_each_label(labels, expected):
    """A text with labels is read as often as there are labels."""
    rows, batches = [("a" * length, ["b"] * labels) for length in (10, 8, 6)], []

    def answer(batch):
        batches.append(len(batch))
        return batch

    assert [*answer_chunks([rows], answer, lengths, Limits(3, padding=6), Progress(0))] == rows
    assert batches == expected


def test_an_iterator_is_read_a_chunk_at_a_time():
    taken = []
    texts = (taken.append(number) or "x" for number in range(1000))
    chunks = read_chunks([texts], [list], chunk_sizes(4, growing=True))
    assert not taken
    assert [len(chunk) for chunk in islice(chunks, 3)] == [8, 16, 32]
    assert len(taken) == 56


def test_unequal_columns_are_refused_before_an_answer_or_where_they_end():
    with pytest.raises(ValueError, match="received 3 texts and 2 pairs"):
        read_chunks([["a", "b", "c"], ["a", "b"]], [list, list], iter([2, 2]))
    chunks = read_chunks([iter("abc"), iter("ab")], [list, list], iter([2, 2]))
    assert next(chunks) == [("a", "a"), ("b", "b")]
    with pytest.raises(ValueError, match="received 3 texts and 2 pairs"):
        next(chunks)


def test_tokens_of_very_long_texts_are_estimated():
    count = token_counts(tiny.tokenizer(), max_length=8)
    assert count([("film " * 10**5,)])[0] > count([("film " * 10**4,)])[0] > count([("film " * 30,)])[0]


@pytest.mark.integration
def test_answers_do_not_depend_on_the_order(task):
    whole = task.predict(TEXTS, batch_size=4)
    for text, answer in zip(TEXTS, whole, strict=True):
        (alone,) = task.predict([text])
        assert answer["probabilities"] == pytest.approx(alone["probabilities"], abs=1e-6)
    assert task.predict(TEXTS[::-1], batch_size=4)[::-1] == whole


def test_batches_hold_texts_of_like_length(task, monkeypatch):
    service, read = task.service, []
    reader = service.reader
    monkeypatch.setattr(service, "reader", lambda texts, pairs=None: read.append(texts) or reader(texts, pairs))
    task.predict(TEXTS, batch_size=5)
    counted = [sorted(map(len, texts)) for texts in read]
    assert all(shorter[-1] <= longer[0] for longer, shorter in pairwise(counted))


@pytest.mark.integration
def test_a_stream_answers_before_it_is_read(task):
    taken = []
    answers = task.predict_stream((taken.append(text) or text for text in TEXTS), batch_size=4)
    assert next(answers) == task.predict(TEXTS[:8], batch_size=4)[0]
    assert len(taken) == 8
    assert [*answers][-1]["label"] == task.predict(TEXTS[-1:])[0]["label"]
    assert [*task.predict_stream(iter(()))] == task.predict([]) == []


def test_a_stream_keeps_what_came_before_a_fault(task):
    answers = task.predict_stream(iter([*TEXTS[:8], 5]), batch_size=4)
    assert len([*islice(answers, 8)]) == 8
    with pytest.raises(ValueError, match=r"counted from row 8 on: .* received int at row 0"):
        next(answers)


@pytest.mark.integration
def test_a_very_long_text_first_and_threads(task):
    texts = ["film " * 3000, *TEXTS]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: task.predict(texts, batch_size=4), range(2))
    assert one == other == task.predict(texts, batch_size=4)
    assert one[0]["truncated"] and len(one) == len(texts)


@pytest.mark.parametrize("count", [0, 1, 3, 9])
@pytest.mark.parametrize("number", [0, 1, 5])
def test_items_are_read_ahead_and_stay_in_order(count, number):
    taken = []
    items = ahead((taken.append(item) or item for item in range(number)), count)
    for place, item in enumerate(items):
        assert item == place and len(taken) == min(place + count + 1, number)
    assert len(taken) == number
