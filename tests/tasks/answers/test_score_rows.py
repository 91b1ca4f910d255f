"""Rows to score are the same in Python and in the graph."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from arrays import to_numpy
from generating import CORPUS, causal_lm
from translating import seq2seq_lm, text_of

from keras_transformers.tasks.answers.graph_score_rows import GraphRows
from keras_transformers.tasks.answers.score_rows import PROBLEMS, PythonRows, RowFacts, plan_rows
from keras_transformers.text.tokenizer import Tokenizer

FACTS = RowFacts((7,), False, 6, False, 0)
PLANS = [  # tokens, of the prompt, whether it is a text alone; kept, scored, problem
    ((5, 3, False), (5, 2, "")),
    ((9, 7, False), (6, 2, "")),
    ((9, 3, False), (6, 0, "exceeds")),
    ((6, 0, False), (5, 0, "exceeds")),
    ((5, 0, False), (5, 5, "")),
    ((5, 5, False), (5, 0, "adds no token")),
    ((9, 0, True), (6, 5, "")),
    ((1, 0, True), (1, 0, "nothing to score")),
]


@pytest.mark.parametrize(("row", "expected"), PLANS)
def test_a_plan_of_a_row(row, expected):
    count, given, alone = (np.array([value]) for value in row)
    plan = plan_rows(FACTS, count.astype("int32"), given.astype("int32"), alone)
    kept, scored, problem = (int(to_numpy(column)[0]) for column in (plan.kept, plan.num_scored, plan.problem))
    assert (kept, scored) == expected[:2]
    assert expected[2] in PROBLEMS[problem] if expected[2] else problem == -1
    assert bool(to_numpy(plan.truncated)[0]) == (row[0] > (5 if not row[1] and not row[2] else 6))


def same(facts, setup, target, texts, more):
    graph = GraphRows(facts, setup, setup.graph_of(target))(tf.constant(texts), tf.constant(more))
    python = PythonRows(facts, setup, target)(texts, more)
    assert graph.keys() == python.keys()
    for name, column in graph.items():
        width = column.shape[-1]
        np.testing.assert_array_equal(column, python[name][..., :width], err_msg=name)
        assert name not in ("token_ids", "padding_mask") or not python[name][..., width:].any()


def unigram():
    return Tokenizer.train(CORPUS, 60, model="unigram")


@pytest.mark.integration
def test_rows_of_prompts():
    task = causal_lm()
    texts = ["the cat", "the cat \t\u3000", "", "", "a", "日本", "day. " * 30, "b", "\u2003"]
    more = [" sat", "sat", "the", "", "", "語の", " mat", " mat" * 50, " x"]
    answers = task.parts.answers
    for target in (answers.target, unigram()):
        same(RowFacts.of(answers.setup, target)._replace(fill_id=0), answers.setup, target, texts, more)


@pytest.mark.integration
def test_rows_of_targets():
    task = seq2seq_lm()
    answers, texts = task.parts.answers, [text_of([4, 5, 6]), "", text_of([9] * 90), text_of([7])]
    same(RowFacts.of(answers.setup, answers.target), answers.setup, answers.target, texts, [text_of([4, 5])] * 3 + [""])
