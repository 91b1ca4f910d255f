"""Small tasks of every kind that the page shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from keras_transformers.families import bert, gpt2, transformer
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

LINES = ["a fine film", "a dull film", "the long day", "a fine day and a long film"]
SIZES = {"num_layers": 2, "num_heads": 2, "hidden_dim": 8, "max_length": 24, "initializer_range": 0.5}


def _make(name: str) -> Task:
    if name == "causal_lm":
        tokenizer = Tokenizer.train(LINES, 280, model="byte_pair")
        return Task(name, gpt2(tokenizer.vocabulary_size, **SIZES, eos_ids=[tokenizer.eos_id]), tokenizer)
    if name == "seq2seq_lm":
        tokenizer = Tokenizer.train(LINES, 40, model="unigram")
        ids = {"pad_id": tokenizer.pad_id, "decoder_start_id": tokenizer.pad_id, "eos_ids": [tokenizer.eos_id]}
        return Task(name, transformer(tokenizer.vocabulary_size, **SIZES, **ids), tokenizer)
    tokenizer = Tokenizer.train(LINES, 60)
    labels = {"classification": ["bad", "good"], "token_classification": ["O", "B-x", "I-x"]}
    options = {"labels": labels[name]} if name in labels else {}
    return Task(name, bert(tokenizer.vocabulary_size, **SIZES), tokenizer, **options)


@pytest.fixture(scope="session")
def task() -> Callable[[str], Task]:
    """A task by its name, made once."""
    return cache(_make)
