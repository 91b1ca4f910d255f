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
from keras_transformers.tasks.parts import Setup, find_kind
from keras_transformers.tasks.questions.context_windows import plan_windows
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


def same_windows(setup, columns, max_length, stride):
    plan = plan_windows(setup.tokenizer, max_length, stride)
    ours = GraphReader(setup.text_graph, setup.max_length).windows(*map(tf.constant, columns), plan)
    theirs = PythonReader(setup).windows(*columns, plan)
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
    """A compiler sees few lengths; what is beyond the largest bucket is padded to its longest row."""
    texts = ["a", "a " * 9, "a " * 20]
    widths = [PythonReader(setup, (4, 16))([text])["token_ids"].shape[1] for text in texts]
    assert widths[:2] == [4, 16] and widths[2] == PythonReader(setup)(texts)["token_ids"].shape[1]
