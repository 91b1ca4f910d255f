"""A tiny task of each kind, with what it learns from and what it is asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import pytest
import tiny
from translating import seq2seq_lm, text_of

from keras_transformers.families import electra, gpt2
from keras_transformers.tasks import Task

TEXTS, OTHERS = ["a fine film", "a dull day"] * 2, ["a warm film", "a cold day"] * 2
SOURCES = [text_of([5, 6, 7]), text_of([8, 9])] * 2
FIT = {"epochs": 1, "batch_size": 4, "verbose": 0}


class Use(NamedTuple):
    """How a task is used."""

    learns: dict[str, Any]  # arguments of `fit` and `evaluate`
    asked: tuple[list, ...]  # arguments of `predict`


USES = {
    "causal_lm": Use({"texts": TEXTS}, (TEXTS,)),
    "classification": Use({"texts": TEXTS, "labels": [0, 1] * 2}, (TEXTS,)),
    "masked_lm": Use({"texts": TEXTS}, (["a [MASK] film"],)),
    "multiple_choice": Use(
        {"texts": TEXTS, "labels": [0, 1] * 2, "pairs": [OTHERS[:2]] * 4}, (TEXTS, [OTHERS[:2]] * 4)
    ),
    "pretraining": Use({"texts": tiny.DOCUMENTS * 2}, (["a [MASK] film"],)),
    "question_answering": Use({"texts": TEXTS, "labels": [(0, "a")] * 4, "pairs": OTHERS}, (TEXTS, OTHERS)),
    "ranking": Use({"texts": TEXTS, "labels": [0, 1] * 2, "pairs": OTHERS}, (TEXTS, OTHERS)),
    "replaced_tokens": Use({"texts": TEXTS}, (TEXTS,)),
    "sentence_embedding": Use({"texts": TEXTS, "pairs": OTHERS}, (TEXTS,)),
    "seq2seq_lm": Use({"texts": SOURCES, "labels": SOURCES}, (SOURCES,)),
    "token_classification": Use({"texts": [["a", "film"]] * 4, "labels": [[0, 1]] * 4}, (TEXTS,)),
}


# Parameters of tests: a task of each shape of labels in every run, the others at night.
SOME = ("classification", "sentence_embedding", "seq2seq_lm")
NAMES = [pytest.param(name, marks=() if name in SOME else pytest.mark.slow) for name in USES]


def make(name: str) -> Task:
    """A task of one block, with random weights."""
    keras.utils.set_random_seed(0)
    if name == "seq2seq_lm":
        return seq2seq_lm(num_layers=1, dropout=0.0, max_length=16)
    if name == "causal_lm":
        config = gpt2(313, num_layers=1, num_heads=2, hidden_dim=16, max_length=16, dropout=0.0, attention_dropout=0.0)
        return Task(name, config, tiny.byte_tokenizer())
    if name == "replaced_tokens":  # of ELECTRA alone
        config = electra(
            tiny.tokenizer().vocabulary_size, num_layers=1, num_heads=2, hidden_dim=16, max_length=16, dropout=0.0
        )
        return Task(name, config, tiny.tokenizer())
    return Task(name, tiny.config(), tiny.tokenizer(), **({"labels": 2} if "classification" in name else {}))
