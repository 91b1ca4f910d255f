"""Readers: the graph gives the windows that the `tokenizers` library gives."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import questions
import tensorflow as tf

import zoo
from keras_transformers.families import bert
from keras_transformers.tasks.answers.readers import GraphReader, PythonReader
from keras_transformers.tasks.contract.kind import find_kind
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.inputs.context_windows import plan_windows
from keras_transformers.text.tokenizer import Tokenizer

WORDS = ["who", "?", "ann", "sat", "New York", "ü", "中文", "İ", "[MASK]", "xyz", "a\u0301", "ﬁ", " ", "oslo."]


@pytest.fixture(scope="module")
def setup():
    return questions.answerer().parts.answers.setup


@pytest.mark.integration
@pytest.mark.parametrize(("max_length", "stride"), [(7, 1), (12, 4), (24, 128), (24, 2)])
def test_windows(setup, max_length, stride):
    """Of questions and contexts of any length, so that some questions are cut, and some contexts are short."""
    chance = random.Random(max_length + stride)
    columns = [[" ".join(chance.choices(WORDS, k=chance.randint(0, most))) for _ in range(40)] for most in (30, 60)]
    ours = same_windows(setup, columns, max_length, stride)
    assert len(ours["row"]) > 80 and 0 < np.sum(ours["truncated"]) < 40
    few = same_windows(setup, columns, max_length, stride, most=2)
    assert len(few["row"]) <= 80 and len(few["column"]) == 2 and np.sum(few["truncated"]) > np.sum(ours["truncated"])


def same_windows(setup, columns, max_length, stride, most=1000):
    plan = plan_windows(setup.tokenizer, max_length, stride)
    ours = GraphReader(setup.text_graph, setup.max_length).windows(*map(tf.constant, columns), plan, most)
    theirs = PythonReader(setup).windows(*columns, plan, most)
    assert ours.keys() == theirs.keys()
    for name, column in theirs.items():
        np.testing.assert_array_equal(ours[name], column, name)
    return ours


@pytest.mark.integration
@pytest.mark.parametrize("max_length", [24, 128])
def test_a_question_is_cut_inside_a_character_of_several_tokens(max_length):
    """A syllable of Hangul is up to three tokens of a real vocabulary."""
    tokenizer = Tokenizer.from_folder(Path(zoo.__file__).parent / "bundled" / "minilm_mini_en")
    config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=128)
    setup = Setup(find_kind("question_answering"), config, tokenizer, max_length, (), "float32")
    chance, words = random.Random(max_length), [*WORDS, "한국어는", "어디에서", "쓰나요", "각\u0323\u0301", "x" * 150]
    asked = [" ".join(chance.choices(words, k=60)) for _ in range(40)] + ["한국어는 어디에서 쓰나요 " * 20] * 2
    read = [" ".join(chance.choices(words, k=chance.randint(0, 90))) for _ in range(40)] + ["Oslo", "한국어 " * 90]
    assert all(same_windows(setup, [asked, read], max_length, 8)["truncated"][-2:])


def test_python_pads_to_buckets(setup):
    """A compiler sees few lengths: buckets, up to the longest text; and few numbers of windows."""
    texts = ["a", "a " * 9, "a " * 20]
    widths = [PythonReader(setup, bucketed=True)([text])["token_ids"].shape[1] for text in texts]
    assert widths == [16, 16, 24] and PythonReader(setup)(texts)["token_ids"].shape[1] == 22
    plan = plan_windows(setup.tokenizer, 24, 8)
    columns = ["who ?"] * 3, ["ann", "oslo " * 60, "oslo " * 45]
    exact, rounded = (PythonReader(setup, bucketed).windows(*columns, plan, 5) for bucketed in (False, True))
    count = len(exact["row"])
    assert 8 < count < 16 and exact["column"].tolist() == [*range(5)]
    assert len(rounded["row"]) == 16 and set(rounded["row"][count:]) == {3} and len(rounded["column"]) == 8
    np.testing.assert_array_equal(rounded["token_ids"][:count, : exact["token_ids"].shape[1]], exact["token_ids"])
