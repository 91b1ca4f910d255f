from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.analysis.explorer.page_answers import TEMPERATURES, TOP, next_tokens, of_prediction
from keras_transformers.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer.train(["a fine film"], 280, model="byte_pair")


@pytest.mark.parametrize(
    ("prediction", "unit", "first"),
    [
        ({"fills": [[("door", 0.5), ("room", 0.1)]]}, "probability", ("door", 0.5)),
        ({"label": "good", "probabilities": {"bad": 0.2, "good": 0.8}}, "probability", ("good", 0.8)),
        ({"scores": {"stars": 4.5}}, "value", ("stars", 4.5)),
        ({"similarity": 0.7}, "similarity", ("similarity", 0.7)),
        ({"embedding": np.array([0.5, -1.0])}, "value", ("number 0", 0.5)),
        ({"tokens": [{"text": "Ann", "label": "B-person", "score": 0.9}]}, "probability", ("B-person", 0.9)),
        ({"answer": "", "candidates": [{"answer": "", "score": 0.6}]}, "probability", ("(no answer)", 0.6)),
        ({"score": 2.0, "probability": 0.88}, "probability", ("probability", 0.88)),
    ],
)
def test_every_kind_of_answer_has_bars(prediction, unit, first):
    answer = of_prediction(prediction, gaps=[2])

    assert answer.unit == unit
    assert answer.places[0].bars[0][:2] == first


def test_an_answer_that_has_no_bars_is_refused():
    with pytest.raises(ValueError, match=r"\['choice'\] cannot be shown: expected one of"):
        of_prediction({"choice": 1})


def test_next_tokens_are_the_softmax_of_the_logits_at_every_temperature():
    logits = 3 * np.random.default_rng(0).normal(size=(2, TOKENIZER.vocabulary_size + 5))

    answer = next_tokens(logits, TOKENIZER, ["after a", "after b"], ["x", None])

    kept = logits[:, : TOKENIZER.vocabulary_size]
    for place, row in zip(answer.places, kept, strict=True):
        assert len(place.bars) == TOP
        best = np.argsort(-row)[:TOP]
        for index, temperature in enumerate(TEMPERATURES):
            expected = np.exp(row / temperature) / np.exp(row / temperature).sum()
            found = [np.exp(bar.logit / temperature - place.norms[index]) for bar in place.bars]
            np.testing.assert_allclose(found, expected[best], rtol=1e-6)
        np.testing.assert_allclose([bar.value for bar in place.bars], np.exp(row[best]) / np.exp(row).sum(), rtol=1e-6)
    assert [place.came for place in answer.places] == ["x", None]


def test_candidates_of_another_answer_have_bars_too():
    logits = np.random.default_rng(0).normal(size=(1, TOKENIZER.vocabulary_size))
    before = next_tokens(logits, TOKENIZER, ["after a"], [None])

    after = next_tokens(-logits, TOKENIZER, ["after a"], [None], like=before)

    numbers = [bar.number for bar in after.places[0].bars]
    assert {bar.number for bar in before.places[0].bars} < set(numbers)
    assert numbers[0] == logits[0].argmin()
