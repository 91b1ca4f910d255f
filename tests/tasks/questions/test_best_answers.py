"""The best spans: those of a search through all of them, in plain Python."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.tasks.inputs.context_windows import columns_of
from keras_transformers.tasks.questions.best_answers import (
    SpanOptions,
    best_of_texts,
    best_spans,
    choose_answers,
    describe_answer,
    write_answers,
)

RANDOM = np.random.default_rng(0)
NOTHING = {"answer": "", "score": 0.0, "start": 0, "end": 0}


def softmax(logits):
    powers = np.exp(logits - np.max(logits))
    return powers / powers.sum()


def make_windows(lengths, rows, width=14, overlap=3):
    """Windows `[CLS] ? ? [SEP] context [SEP]` of contexts whose token `i` stands at [3i, 3i + 2)."""
    count = len(lengths)
    windows = {"word_ids": np.full((count, width), -1), "sequence_ids": np.full((count, width), -1)}
    windows["offsets"] = np.zeros((count, width, 2), int)
    windows["word_ids"][:, 1:3] = [0, 1]
    windows["sequence_ids"][:, 1:3] = 0
    windows["offsets"][:, 1:3] = [[0, 4], [5, 9]]
    for _, numbers in groupby(range(count), key=lambda number: rows[number]):
        begin = 0
        for number in numbers:
            inside = slice(4, 4 + lengths[number])
            tokens = begin + np.arange(lengths[number])
            windows["word_ids"][number, inside] = tokens
            windows["sequence_ids"][number, inside] = 1
            windows["offsets"][number, inside] = np.stack([3 * tokens, 3 * tokens + 2], axis=1)
            begin += lengths[number] - overlap
    logits = RANDOM.normal(0, 3, (count, width, 2)).astype("float32")
    real = np.arange(width) < 5 + np.array(lengths)[:, None]
    return np.where(real[..., None], logits, NEVER).astype("float32"), windows


def search(logits, windows, rows, options):
    """For each text its spans as (total, score, start, end), best first; and total and score of no answer."""
    found = {row: {} for row in rows}
    null = dict.fromkeys(rows, (np.inf, 0.0))
    for number, row in enumerate(rows):
        tokens = [4 + i for i in range(int((windows["word_ids"][number, 4:] >= 0).sum()))]
        starts = dict(zip([0, *tokens], softmax(logits[number, [0, *tokens], 0].astype("float64")), strict=True))
        ends = dict(zip([0, *tokens], softmax(logits[number, [0, *tokens], 1].astype("float64")), strict=True))
        for first in tokens:
            for last in tokens:
                if first <= last < first + options.max_answer_length:
                    total = logits[number, first, 0] + logits[number, last, 1]
                    place = int(windows["offsets"][number, first, 0]), int(windows["offsets"][number, last, 1])
                    record = total, starts[first] * ends[last], *place
                    found[row][place] = max(found[row].get(place, record), record)
        null[row] = min(null[row], (logits[number, 0].sum(), starts[0] * ends[0]))
    return {row: sorted(spans.values(), reverse=True) for row, spans in found.items()}, null


CASES = {
    "one window": ([9], [0]),
    "windows overlap": ([9, 9, 9, 4], [0, 0, 0, 0]),
    "several texts": ([5, 9, 9, 2, 1, 9], [0, 1, 1, 1, 2, 3]),
    "an empty context": ([0, 6, 0], [0, 1, 2]),
}


@pytest.mark.integration(quick=["1-1-several texts", "1-1-windows overlap", "1-1-an empty context"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("max_answer_length", [1, 3, 30])
@pytest.mark.parametrize("num_candidates", [1, 7])
def test_all_spans_are_compared(case, max_answer_length, num_candidates):
    lengths, rows = CASES[case]
    options = SpanOptions(num_candidates, max_answer_length, False, 0.0)
    for _ in range(2):
        logits, windows = make_windows(lengths, rows)
        row, count = np.array(rows, "int32"), rows[-1] + 1
        best = best_of_texts(best_spans(logits, windows, options), row, columns_of(row, count), count, options)
        best = {name: np.array(value) for name, value in best.items()}
        spans, null = search(logits, windows, rows, options)
        for row in range(rows[-1] + 1):
            expected = [*spans[row], *[(0, 0, 0, 0)] * num_candidates][:num_candidates]
            for place, name in enumerate(("total", "score", "start", "end")):
                np.testing.assert_allclose(best[name][row], [span[place] for span in expected], atol=1e-5)
            assert null[row] == pytest.approx((best["null_total"][row], best["null_score"][row]), abs=1e-5)


def test_a_question_without_tokens_has_no_answer():
    logits, windows = make_windows([5], [0])
    windows["word_ids"][:, 1:3] = -1
    found = best_spans(logits, windows, SpanOptions(2, 30, False, 0.0))
    assert (np.array(found["numbers"])[0, 1:, 0] == NEVER).all()


def best(total=5.0, null_total=4.0, start=2, end=5):
    """One text with one span, and one place more."""
    columns = {"total": [[total, 0]], "score": [[0.5, 0]], "null_total": [null_total], "null_score": [0.25]}
    places = {"start": [[start, 0]], "end": [[end, 0]]}
    return {name: np.array(value, "float32") for name, value in columns.items()} | {
        name: np.array(value, "int32") for name, value in places.items()
    }


def answered(found, no_answer, threshold=0.0, context="ab😀de"):
    answer = write_answers(choose_answers(found, SpanOptions(2, 30, no_answer, threshold)), [context])
    row = {name: np.array(value)[0] for name, value in answer.items()}
    decode = np.vectorize(bytes.decode, otypes=[object])
    return describe_answer(row | {"answer": row["answer"].decode(), "candidates": decode(row["candidates"])})


SPAN = {"answer": "😀de", "score": 0.5, "start": 2, "end": 5}


@pytest.mark.parametrize(
    ("no_answer", "threshold", "null_total", "is_null"),
    [(False, 0.0, 9.0, False), (True, 0.0, 4.0, False), (True, 0.0, 5.5, True), (True, 0.0, 5.0, False),
     (True, 1.0, 5.5, False), (True, -2.0, 4.0, True), (True, float("inf"), 99.0, False)],
)  # fmt: skip
def test_no_answer(no_answer, threshold, null_total, is_null):
    expected = NOTHING | {"score": 0.25} if is_null else SPAN
    assert answered(best(null_total=null_total), no_answer, threshold) == expected | {"candidates": [SPAN]}


@pytest.mark.parametrize("no_answer", [True, False])
def test_nothing_to_choose_from(no_answer):
    assert answered(best(0.0, 3.0, 0, 0), no_answer) == NOTHING | {"candidates": []}
