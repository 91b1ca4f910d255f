"""Merges of many words at once against the library's, one at a time."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import tensorflow as tf
from tokenizers import models

from keras_transformers.text.graph.models import merges as module
from keras_transformers.text.graph.models.merges import Merges

LETTERS = "abc"


Pairs = list[tuple[str, str]]


def random_merges(seed: int, count: int, order: str) -> tuple[dict[str, int], Pairs]:
    """Merges of known tokens; but in the order "parts first", a product may merge before it can be made."""
    draw, tokens, merges = random.Random(seed), list(LETTERS), []
    while len(merges) < count:
        left, right = draw.choice(tokens), draw.choice(tokens)
        if left + right not in tokens and len(left + right) < 9:
            tokens.append(left + right)
            merges.append((left, right))
    if order == "shuffled":
        draw.shuffle(merges)
    if order == "every split":
        merges = every_split(tokens)
    return {token: i for i, token in enumerate(tokens)}, merges


def every_split(tokens: list[str]) -> Pairs:
    """All pairs of tokens that make a token, by its rank: so converters write the merges of SentencePiece (Llama 2)."""
    return [
        (token[:i], token[i:])
        for token in tokens
        for i in range(1, len(token))
        if token[:i] in tokens and token[i:] in tokens
    ]


def ours(vocabulary: dict[str, int], merges: Pairs, texts: list[str]) -> list[list[int]]:
    pairs = [(vocabulary[left], vocabulary[right]) for left, right in merges]
    merge = Merges(pairs, [vocabulary[left + right] for left, right in merges], len(vocabulary))
    return merge(tf.ragged.constant([[vocabulary[letter] for letter in text] for text in texts], tf.int32)).to_list()


def librarys(vocabulary: dict[str, int], merges: Pairs, texts: list[str]) -> list[list[int]]:
    library = models.BPE(vocabulary, merges)
    return [[token.id for token in library.tokenize(text)] for text in texts]


@pytest.mark.integration(quick=["2-every split", "2-parts first", "6-parts first", "7-every split"])
@pytest.mark.parametrize("order", ["parts first", "shuffled", "every split"])
@pytest.mark.parametrize("seed", range(8))
def test_ids_are_those_of_the_library(seed, order):
    vocabulary, merges = random_merges(seed, 14, order)
    draw = random.Random(seed)
    repeated = ["".join(draw.choices(LETTERS, k=draw.randint(1, 5))) * 8 for _ in range(30)]
    texts = ["a", "aaaaaaa", *repeated, *("".join(draw.choices(LETTERS, k=draw.randint(1, 40))) for _ in range(60))]
    assert ours(vocabulary, merges, texts) == librarys(vocabulary, merges, texts)


@pytest.fixture
def rounds(monkeypatch) -> list:
    """Grows by one for each round."""
    seen, every_other = [], module._every_other
    monkeypatch.setattr(module, "_every_other", lambda *arguments: seen.append(1) or every_other(*arguments))
    return seen


@pytest.mark.parametrize("seed", range(8))
def test_any_order_takes_few_rounds(seed, rounds):
    """Merges of every split took a round for each pair of "abab...": 15 s for 20,000 letters."""
    vocabulary, merges = random_merges(seed, 14, "every split")
    draw = random.Random(seed)
    texts = ["".join(draw.choices(LETTERS, k=k)) * 300 for k in (1, 2, 3, 4)]
    assert ours(vocabulary, merges, texts) == librarys(vocabulary, merges, texts)
    assert 0 < len(rounds) < 12


CHAIN = {"a": 0, "b": 1, "ab": 2, "aba": 3}, [("ab", "a"), ("a", "b")]  # in "ababab..." each awaits the one before it


@pytest.mark.integration
def test_a_chain_of_merges_takes_a_fixed_number_of_rounds(rounds, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64)
    texts = ["ab" * 3_000]
    assert ours(*CHAIN, texts) == librarys(*CHAIN, texts)
    assert module.MOST_ROUNDS < len(rounds) <= module.MOST_ROUNDS + module.BLOCK


@pytest.mark.integration
def test_many_rounds_give_the_librarys_ids(rounds):
    """Tokens of one letter, the longest left part first, as converters order equal scores; and a chain of parts."""
    runs = ["a" * length for length in range(1, 32)]
    merges = sorted(every_split(runs), key=lambda pair: (len(pair[0]), len(pair[1])), reverse=True)
    texts = ["b" + "a" * length + "b" for length in (1, 50, 300, 700)]
    vocabulary = {token: i for i, token in enumerate([*runs, "b"])}
    assert ours(vocabulary, merges, texts) == librarys(vocabulary, merges, texts)
    assert len(rounds) > module.MOST_ROUNDS

    rounds.clear()
    letters = [chr(0x4E00 + i) for i in range(900)]
    merges = list(pairwise(letters))
    vocabulary = {token: i for i, token in enumerate(["x", *letters, *map("".join, merges)])}
    texts = ["x" + "".join(letters)]
    assert ours(vocabulary, merges, texts) == librarys(vocabulary, merges, texts)
    assert len(rounds) > module.MOST_ROUNDS


def test_what_a_chain_leaves_is_cut_in_blocks(monkeypatch):
    """Eight rounds make "aba", "b" four times. Of the rest, each block merges alone. Other words are not cut."""
    monkeypatch.setattr(module, "MOST_ROUNDS", 8)
    monkeypatch.setattr(module, "BLOCK", 2)
    short, long = "ab" * 8, "ab" * 14
    whole = [3, 1] * 4
    assert ours(*CHAIN, [short, long, short]) == [whole, whole + [2] * 6, whole]
    assert librarys(*CHAIN, [short]) == [whole]


def test_words_do_not_merge_with_each_other():
    merges = Merges([(0, 1)], [2], 3)
    words = tf.ragged.constant([[0], [1, 0], [], [0, 1, 0, 1], [1]], tf.int32)
    assert merges(words).to_list() == [[0], [1, 0], [], [2, 2], [1]]


def test_no_merges():
    words = tf.ragged.constant([[0, 1], []], tf.int32)
    assert Merges([], [], 2)(words).to_list() == [[0, 1], []]
