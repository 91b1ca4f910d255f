"""Merges of many words at once against the library's, one at a time."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf
from tokenizers import models

from keras_transformers.text.graph.merges import Merges

LETTERS = "abc"


def random_merges(seed: int, count: int, shuffled: bool) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Merges of known tokens; shuffled, so that a product may merge before it can be made."""
    draw, tokens, merges = random.Random(seed), list(LETTERS), []
    while len(merges) < count:
        left, right = draw.choice(tokens), draw.choice(tokens)
        if left + right not in tokens and len(left + right) < 9:
            tokens.append(left + right)
            merges.append((left, right))
    if shuffled:
        draw.shuffle(merges)
    return {token: i for i, token in enumerate(tokens)}, merges


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_ids_are_those_of_the_library(seed, shuffled):
    vocabulary, merges = random_merges(seed, 14, shuffled)
    pairs = [(vocabulary[left], vocabulary[right]) for left, right in merges]
    ours = Merges(pairs, [vocabulary[left + right] for left, right in merges], len(vocabulary))
    library = models.BPE(vocabulary, merges)
    draw = random.Random(seed)
    texts = ["a", "aaaaaaa", *("".join(draw.choices(LETTERS, k=draw.randint(1, 40))) for _ in range(60))]
    symbols = tf.ragged.constant([[vocabulary[letter] for letter in text] for text in texts], tf.int32)
    assert ours(symbols).to_list() == [[token.id for token in library.tokenize(text)] for text in texts]


def test_words_do_not_merge_with_each_other():
    merges = Merges([(0, 1)], [2], 3)
    words = tf.ragged.constant([[0], [1, 0], [], [0, 1, 0, 1], [1]], tf.int32)
    assert merges(words).to_list() == [[0], [1, 0], [], [2, 2], [1]]


def test_no_merges():
    words = tf.ragged.constant([[0, 1], []], tf.int32)
    assert Merges([], [], 2)(words).to_list() == [[0, 1], []]
