"""A token classifier small enough to train in a test, on sentences whose words decide the labels."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import keras
import tiny

from keras_transformers.families import bert
from keras_transformers.tasks import Task
from keras_transformers.tasks.tokens.label_schemes import bio_labels
from keras_transformers.text.tokenizer import Tokenizer

NAMES = tuple(bio_labels(["person", "place"]))
PEOPLE = (["Ann"], ["Bob", "Ray"], ["Ann", "Ray"])
PLACES = (["Oslo"], ["U.S."], ["New", "York"])
FIT = tiny.FIT | {"epochs": 15}


def _labelled(person: list[str], verb: str, place: list[str]) -> tuple[list[str], list[str]]:
    tags = ["B-person", "I-person"][: len(person)], ["B-place", "I-place"][: len(place)]
    return [*person, verb, "in", *place, "."], [*tags[0], "O", "O", *tags[1], "O"]


WORDS, LABELS = map(list, zip(*(_labelled(*parts) for parts in product(PEOPLE, ("is", "sat"), PLACES)), strict=True))
TEXTS = [" ".join(words) for words in WORDS]


def spans_of(words: list[str], labels: list[str]) -> list[tuple[int, int, str]]:
    """Entities in characters, by a plain loop over valid BIO."""
    spans, start = [], 0
    for word, label in zip(words, labels, strict=True):
        if label.startswith("B-"):
            spans.append((start, start + len(word), label[2:]))
        elif label.startswith("I-"):
            spans[-1] = (spans[-1][0], start + len(word), label[2:])
        start += len(word) + 1
    return spans


SPANS = [spans_of(words, labels) for words, labels in zip(WORDS, LABELS, strict=True)]


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS, vocabulary_size=60)


def token_classifier(labels: Any = NAMES, max_length: int = 24, **options: Any) -> Task:
    keras.utils.set_random_seed(0)
    config = bert(
        tokenizer().vocabulary_size, num_layers=1, num_heads=2, hidden_dim=16, max_length=max_length, dropout=0.0,
        attention_dropout=0.0, initializer_range=0.2,
    )  # fmt: skip
    return Task("token_classification", config, tokenizer(), labels=labels, **options)
