"""The bundled customer messages: enough, balanced, and a test part that shares no template with the training part."""

from __future__ import annotations

import csv
import re
from collections import Counter
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "zoo" / "bundled" / "sample_messages"
INTENTS = {
    "account_access",
    "cancel_order",
    "change_address",
    "damaged_item",
    "order_status",
    "payment_problem",
    "product_question",
    "return_refund",
}


def read(part: str) -> list[tuple[str, str]]:
    with open(FOLDER / f"{part}.csv", newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == ["text", "label"]
        return [(row["text"], row["label"]) for row in reader]


TRAIN, TEST = read("train"), read("test")


@cache
def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z]+", text.lower().replace("'", "")))


@cache
def shingles(text: str, size: int = 5) -> set[tuple[str, ...]]:
    tokens = words(text)
    return {tokens[i : i + size] for i in range(len(tokens) - size + 1)}


def jaccard(a: str, b: str) -> float:
    first, second = set(words(a)), set(words(b))
    return len(first & second) / len(first | second)


# What is left of a message when its rare words (the slots of a template) become one gap.
FREQUENT = {word for word, n in Counter(w for text, _ in TRAIN + TEST for w in set(words(text))).items() if n >= 10}


@cache
def skeleton(text: str) -> list[str]:
    kept = [word if word in FREQUENT else "_" for word in words(text)]
    return [word for i, word in enumerate(kept) if word != "_" or i == 0 or kept[i - 1] != "_"]


def same_skeleton(a: str, b: str) -> bool:
    matcher = SequenceMatcher(None, skeleton(a), skeleton(b), autojunk=False)
    return matcher.quick_ratio() >= 0.85 and matcher.ratio() >= 0.85


def shared_shingle(a: str, b: str) -> bool:
    return bool(shingles(a) & shingles(b))


def similar_words(a: str, b: str) -> bool:
    return jaccard(a, b) >= 0.6


CHECKS = (shared_shingle, similar_words, same_skeleton)


def test_counts_are_balanced():
    train, test = (Counter(label for _, label in part) for part in (TRAIN, TEST))
    assert train.keys() == test.keys() == INTENTS
    assert len(TRAIN) + len(TEST) >= 400
    assert set(train.values()) == {60}
    assert set(test.values()) == {18}


def test_labels_come_in_mixed_order():
    """Taking the first rows of a file, as a quick trial does, has to show every intent."""
    assert {label for _, label in TRAIN[:64]} == INTENTS
    assert {label for _, label in TEST[:64]} == INTENTS


def test_messages_are_short_clean_text():
    for text, _ in TRAIN + TEST:
        assert 5 <= len(text.split()) <= 30, text
        assert text == text.strip()
        assert text.isascii() and text.isprintable(), text


def test_messages_hold_no_contact_data():
    """No e-mail address, link, or number long enough for a telephone, a card or an order."""
    for text, _ in TRAIN + TEST:
        assert not re.search(r"@|https?:|www\.|(\d[ -]?){5,}", text), text


def test_no_message_twice():
    plain = Counter(" ".join(words(text)) for text, _ in TRAIN + TEST)
    assert max(plain.values()) == 1, plain.most_common(1)


@pytest.mark.integration(quick=["shared_shingle", "similar_words"])
@pytest.mark.parametrize("check", CHECKS)
def test_parts_share_no_template(check):
    pairs = [(a, b) for a, _ in TEST for b, _ in TRAIN if check(a, b)]
    assert not pairs, f"{len(pairs)} pairs, first: {pairs[0]}"


PLANTED = [
    ("I would like to return the red scarf, please.", "Hello, I would like to return the boots I got."),
    ("My new toaster arrived broken today", "Today my new kettle arrived broken"),
    ("When will my scarf order arrive at the shop?", "When will my trumpet and drums order arrive at the zoo?"),
]


@pytest.mark.parametrize(("check", "pair"), list(zip(CHECKS, PLANTED, strict=True)))
def test_a_planted_template_is_found(check, pair):
    """The guard works: two fillings of one template are reported, two unrelated messages are not."""
    assert check(*pair)
    assert not check(pair[0], "Which battery fits the silver torch?")


@pytest.mark.parametrize("check", CHECKS)
def test_every_training_message_would_be_found_in_the_test_part(check):
    assert all(check(text, text) for text, _ in TRAIN)


def test_card_states_the_counts():
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    for fact in (str(len(TRAIN)), str(len(TEST)), str(len(TRAIN) + len(TEST)), "Apache-2.0", *sorted(INTENTS)):
        assert fact in card, fact
