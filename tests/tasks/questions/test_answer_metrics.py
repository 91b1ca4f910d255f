"""Metrics of question answering; exact match and F1 beside the steps of the official script."""

from __future__ import annotations

import collections
import json
import random
import re
import string

import numpy as np
import pytest

from keras_transformers.tasks.questions.answer_metrics import MeanSpanCrossEntropy, SpanAccuracy, answer_scores

LOGITS = np.random.default_rng(0).normal(size=(6, 9, 2)).astype("float32")
FOUND = LOGITS.argmax(axis=1)


def test_span_accuracy_needs_both_ends():
    positions = FOUND.copy()
    positions[1, 0] += 1
    positions[2] += 1
    positions[3] = -1
    metric = SpanAccuracy()
    for rows in (slice(0, 4), slice(4, 6)):
        metric.update_state(positions[rows], LOGITS[rows])
    assert float(metric.result()) == pytest.approx(3 / 5)


def test_cross_entropy_is_exact_over_batches():
    whole, parts = MeanSpanCrossEntropy(), MeanSpanCrossEntropy()
    whole.update_state(FOUND, LOGITS)
    for rows in (slice(0, 5), slice(5, 6)):
        parts.update_state(FOUND[rows], LOGITS[rows])
    powers = np.exp(LOGITS.astype("float64"))
    probabilities = np.take_along_axis(powers / powers.sum(axis=1, keepdims=True), FOUND[:, None], axis=1)
    assert float(whole.result()) == pytest.approx(-np.log(probabilities).mean(), rel=1e-5)
    assert float(whole.result()) == pytest.approx(float(parts.result()), rel=1e-6)


# The steps of evaluate-v2.0.py of the SQuAD explorer (Rajpurkar et al.).
def normalize_answer(s):
    def remove_articles(text):
        return re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", text)

    def remove_punc(text):
        exclude = set(string.punctuation)
        return "".join(ch for ch in text if ch not in exclude)

    return " ".join(remove_articles(remove_punc(s.lower())).split())


def compute_f1(a_gold, a_pred):
    gold_toks, pred_toks = normalize_answer(a_gold).split(), normalize_answer(a_pred).split()
    num_same = sum((collections.Counter(gold_toks) & collections.Counter(pred_toks)).values())
    if len(gold_toks) == 0 or len(pred_toks) == 0:
        return int(gold_toks == pred_toks)
    if num_same == 0:
        return 0
    precision, recall = 1.0 * num_same / len(pred_toks), 1.0 * num_same / len(gold_toks)
    return (2 * precision * recall) / (precision + recall)


def official(answers, references):
    exact, f1 = [], []
    for answer, texts in zip(answers, references, strict=True):
        gold_answers = [text for text in texts if normalize_answer(text)] or [""]
        exact.append(max(int(normalize_answer(gold) == normalize_answer(answer)) for gold in gold_answers))
        f1.append(max(compute_f1(gold, answer) for gold in gold_answers))
    return {"exact_match": 100.0 * sum(exact) / len(exact), "f1": 100.0 * sum(f1) / len(f1)}


CASES = [
    ("The Old Bridge!", ["old  bridge"]), ("an apple a day", ["apple day", "the day"]), ("", []), ("x", []),
    ("", ["x"]), ("the", ["a"]), ("...", []), ("theatre", ["atre"]), ("U.S.", ["US"]), ("a-b", ["ab", "a b"]),
    ("one two two", ["two one", "two two three"]), ("Ünal\u00a0X", ["ünal x"]), ("“quoted”", ["quoted"]),
    ("3,5", ["35"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_one_answer(case):
    answer, texts = case
    assert answer_scores([answer], [texts]) == pytest.approx(official([answer], [texts]))


def test_the_best_reference_counts_for_each():
    assert answer_scores(["one two"], [["one", "one two three", "one two"]]) == {"exact_match": 100.0, "f1": 100.0}
    half = answer_scores(["one two", "x"], [["one"], ["x"]])
    assert half == {"exact_match": 50.0, "f1": pytest.approx(100 * (2 / 3 + 1) / 2)}


@pytest.mark.parametrize(("answers", "references"), [([], []), (["a"], [])])
def test_what_is_refused(answers, references):
    with pytest.raises(ValueError, match="one list for each answer, and at least one"):
        answer_scores(answers, references)


def test_references_that_are_no_list():
    with pytest.raises(ValueError, match=r"Expected a list of str for `references\[0\]`, received one str"):
        answer_scores(["cat"], ["cat"])
    with pytest.raises(ValueError, match="Expected a list of str for `answers`, received one str"):
        answer_scores("c", [["cat"]])


@pytest.mark.data
def test_real_answers(data_dir):
    """Guesses on the development set: right answers, parts of them, and other stretches of the context."""
    content = json.loads((data_dir / "squad_v1.1" / "dev-v1.1.json").read_text())
    dice, answers, references = random.Random(0), [], []
    for paragraph in [paragraph for article in content["data"] for paragraph in article["paragraphs"]]:
        for question in paragraph["qas"]:
            words = dice.choice([question["answers"][0]["text"], paragraph["context"]]).split(" ")
            start = dice.randrange(len(words))
            answers.append(" ".join(words[start : start + dice.randint(1, 4)]))
            references.append([answer["text"] for answer in question["answers"]])
    scores = answer_scores(answers, references)
    assert scores == pytest.approx(official(answers, references), abs=1e-9)
    assert 15 < scores["exact_match"] < scores["f1"] < 50
