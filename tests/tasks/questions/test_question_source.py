"""From questions, contexts and answers to rows: a row for each window, with the tokens of its answer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import questions
import tensorflow as tf
from questions import ANSWERS, CONTEXTS, QUESTIONS

from keras_transformers.families import bert
from keras_transformers.tasks import Task
from keras_transformers.tasks.questions.squad import read_squad
from keras_transformers.text.tokenizer import Tokenizer

LONG = "He sat in Rome. " * 6 + "Ann sat in Oslo. " + "He sat in Bonn. " * 6


@pytest.fixture(scope="module")
def task():
    return questions.answerer()


def rows_of(task, *arguments):
    return task.parts.source(*arguments)


def test_short_contexts_have_one_row(task):
    rows = rows_of(task, QUESTIONS, ANSWERS, CONTEXTS)
    encoded = task.tokenizer.encode(QUESTIONS, CONTEXTS)
    assert rows.num_rows == len(QUESTIONS) and rows.labels.dtype == np.int32
    for number, (row, (first, last), context, (_, text)) in enumerate(
        zip(encoded, rows.labels.tolist(), CONTEXTS, ANSWERS, strict=True)
    ):
        assert rows[[number]].token_ids.tokens().tolist() == row.ids
        assert context[row.offsets[first][0] : row.offsets[last][1]] == text
        assert row.segment_ids[first] == row.segment_ids[last] == 1


def test_long_contexts_have_several(task):
    answer = (LONG.index("Oslo"), "Oslo")
    rows = rows_of(task, ["Where?", "Where?", "Where?"], [ANSWERS[1], answer, None], [CONTEXTS[1], LONG, LONG])
    count = (rows.num_rows - 1) // 2
    assert count > 4 and (rows.lengths <= task.max_length).all()
    long = rows.labels[1 : 1 + count]
    held = (long > 0).all(axis=1)
    assert 0 < held.sum() < count and (long[~held] == 0).all() and (rows.labels[1 + count :] == 0).all()
    for number in held.nonzero()[0] + 1:
        (first, last), ids = rows.labels[number], rows[[number]].token_ids.tokens()
        assert task.tokenizer.decode(ids[first : last + 1]) == "oslo"


def test_the_first_of_several_answers_is_learnt(task):
    labels = [[(0, "Ann"), (3, " sat")], {"text": ["He", "sat"], "answer_start": [0, 3]}]
    both = rows_of(task, QUESTIONS[:2], labels, CONTEXTS[:2])
    assert both.labels.tolist() == rows_of(task, QUESTIONS[:2], [(0, "Ann"), (0, "He")], CONTEXTS[:2]).labels.tolist()


def test_rows_to_predict(task):
    assert rows_of(task, QUESTIONS, None, CONTEXTS).labels is None
    (inputs,) = next(iter(task.dataset(QUESTIONS, pairs=CONTEXTS)))
    assert inputs.keys() == task.model.input.keys()


def test_what_is_told(task):
    with pytest.warns(UserWarning, match=r"1 of 2 questions were cut: .* windows of max_length=24"):
        rows_of(task, ["Where " * 20, "Where?"], None, [LONG, LONG])
    with pytest.warns(UserWarning, match="1 of 2 answers give no token, such as ' ' in row 1: they"):
        rows = rows_of(task, ["Who?"] * 2, [(0, "Ann"), (4, " ")], ["Ann  sat", "Ann  sat"])
    assert (rows.labels[0] > 0).all() and rows.labels[1].tolist() == [-1, -1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows_of(task, ["Where?"], [(LONG.index("Oslo"), "Oslo")], [LONG])  # windows are no cut


WRONG = {
    "no contexts": ((QUESTIONS, ANSWERS, None), "received questions alone: pass the context of each one as pairs"),
    "too few contexts": ((QUESTIONS, ANSWERS, CONTEXTS[:3]), "8 questions and 3 contexts"),
    "too few answers": ((QUESTIONS, ANSWERS[:3], CONTEXTS), "answers to 3 questions for 8 contexts"),
    "no questions": (([], [], []), "received no questions"),
    "one question": (("Who?", ANSWERS, CONTEXTS), "`texts`, received one str"),
    "one context": ((QUESTIONS, ANSWERS, "Ann"), "`pairs`, received one str"),
    "no text": (([3], [None], ["Ann"]), "received int at row 0"),
    "one answer": ((QUESTIONS, "Ann", CONTEXTS), "expected a list with the answers to each question: received 'Ann'"),
    "one number": ((QUESTIONS, 5, CONTEXTS), "expected a list with the answers to each question: received '5'"),
    "one dict": ((QUESTIONS, {"text": ["Ann"]}, CONTEXTS), "expected a list with the answers to each question"),
    "form": ((["Who?"] * 2, [None, ("Ann", 0)], ["Ann"] * 2), r"row 1: expected answers as .* received \('Ann', 0\)"),
    "place": ((["Who?"] * 2, [None, (1, "Ann")], ["Ann"] * 2), "row 1: the answer 'Ann' is not at character 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(task, case):
    arguments, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        rows_of(task, *arguments)


def test_streams_are_refused(task):
    stream = tf.data.Dataset.from_tensor_slices((QUESTIONS, CONTEXTS))
    with pytest.raises(ValueError, match=r"takes lists of questions, contexts and answers: received a tf\.data"):
        rows_of(task, stream, None, None)
    with pytest.raises(ValueError, match="stream"):
        task.fit(stream)


def by_run_qa(window, start, text):
    """First and last token by the steps of run_qa.py, an example of transformers."""
    parts, offsets, end = window.encoding.sequence_ids, window.offsets, start + len(text)
    first, last = 0, len(window.ids) - 1
    while parts[first] != 1:
        first += 1
    while parts[last] != 1:
        last -= 1
    if not (offsets[first][0] <= start and offsets[last][1] >= end):
        return [0, 0]
    while parts[first] == 1 and offsets[first][0] <= start:  # there, on to [SEP] at 0, if the last token is the answer
        first += 1
    while offsets[last][1] >= end:
        last -= 1
    return [first - 1, last + 1]


@pytest.mark.data
@pytest.mark.parametrize(("max_length", "stride"), [(384, 128), (96, 30)])
def test_real_answers_have_the_tokens_of_run_qa(data_dir, max_length, stride):
    squad = read_squad(data_dir / "squad_v1.1" / "dev-v1.1.json")
    tokenizer = Tokenizer.from_vocab(data_dir / "bert_vocab" / "vocab.txt")
    config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=1, hidden_dim=2, max_length=max_length)
    task = Task("question_answering", config, tokenizer, stride=stride)
    asked, contexts, answers = squad.questions[::9], squad.contexts[::9], squad.answers[::9]
    rows = rows_of(task, asked, answers, contexts)
    windows = tokenizer.encode(asked, contexts, max_length, "only_second", stride=task.stride)
    assert task.stride == stride and rows.num_rows == len(windows)
    assert rows.labels.tolist() == [by_run_qa(window, *answers[window.row][0]) for window in windows]
    found = {window.row for window, label in zip(windows, rows.labels, strict=True) if label.any()}
    assert len(found) > 0.99 * len(asked)
