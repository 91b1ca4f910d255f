"""Outputs of a model as bars: predictions of one pass, and a language model's next token at each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.analysis.explorer.tokens import shown
from keras_transformers.text.tokenizer import Tokenizer

TEMPERATURES = (0.2, 0.5, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0)
TOP = 8
MOST_PLACES = 64  # of one answer: the page has an answer for each head, too
NEW = 3  # likeliest tokens without a head that get a bar besides the whole model's
VALUES = 16  # numbers of a vector that are shown
REPLACED = "replaced"  # what the score of a token without a label says


class Bar(NamedTuple):
    """One possible answer, with its number.

    Args:
        label: The answer.
        value: Probability, or another number in the answer's unit.
        logit, number: The token's logit and id, for a language model.
    """

    label: str
    value: float
    logit: float | None = None
    number: int | None = None


class Place(NamedTuple):
    """One question that a model answers.

    Args:
        name: The question.
        bars: The possible answers, the likeliest first.
        token: Number of the token that the question belongs to; None if it belongs to the whole text.
        norms: The values log(sum(exp(logits / temperature))) of a language model at each of `TEMPERATURES`.
        came: The token that follows in the text, if there is one.
    """

    name: str
    bars: tuple[Bar, ...]
    token: int | None = None
    norms: tuple[float, ...] = ()
    came: str | None = None


class Answer(NamedTuple):
    """All outputs of a model for a text.

    Args:
        unit: `"probability"`, `"similarity"` or `"value"`.
        places: The questions with their answers.
        text: The text that the model wrote, if it writes.
        notes: Notes for the user, such as that there are more places.
    """

    unit: str
    places: tuple[Place, ...]
    text: str | None = None
    notes: tuple[str, ...] = ()


def of_prediction(prediction: Mapping[str, Any], gaps: Sequence[int] = ()) -> Answer:
    """Return a prediction for a text as bars.

    Args:
        prediction: One of the dicts that `OnePass.predict` returns.
        gaps: Positions of the tokens `[MASK]`, for a masked language model.

    Example:

    >>> of_prediction({"label": "bad", "probabilities": {"good": 0.2, "bad": 0.8}}).places[0].bars[0]
    Bar(label='bad', value=0.8, logit=None, number=None)
    """
    for key, (unit, make) in READERS.items():
        if key in prediction:
            places = tuple(make(prediction[key], gaps))
            cut = f"Only the first {MOST_PLACES} of {len(places)} positions of the answer are shown."
            return Answer(unit, places[:MOST_PLACES], notes=(cut,) if len(places) > MOST_PLACES else ())
    raise ValueError(f"an answer with {sorted(prediction)} cannot be shown: expected one of {sorted(READERS)}.")


def _fills(fills: Sequence, gaps: Sequence[int]) -> list[Place]:
    return [
        Place(f"gap {number}", tuple(Bar(token, float(value)) for token, value in bars), gap)
        for number, (bars, gap) in enumerate(zip(fills, gaps, strict=True), 1)
    ]


def _by_label(values: Mapping[str, float], gaps: Any) -> list[Place]:
    bars = sorted((Bar(str(label), float(value)) for label, value in values.items()), key=lambda bar: -bar.value)
    return [Place("the text", tuple(bars[: 2 * TOP]))]


def _candidates(found: Sequence[Mapping[str, Any]], gaps: Any) -> list[Place]:
    return [Place("the answer", tuple(Bar(one["answer"] or "(no answer)", float(one["score"])) for one in found))]


def _words(words: Sequence[Mapping[str, Any]], gaps: Any) -> list[Place]:
    return [Place(word["text"], (Bar(word.get("label", REPLACED), float(word["score"])),)) for word in words]


def _one(label: str) -> Any:
    return lambda value, gaps: [Place("the two texts", (Bar(label, float(value)),))]


def _vector(vector: Any, gaps: Any) -> list[Place]:
    bars = [Bar(f"number {index}", float(value)) for index, value in enumerate(vector[:VALUES])]
    return [Place(f"the first {len(bars)} of {len(vector)} numbers", tuple(bars))]


# How to show each part of predictions; the first part that a prediction has is shown.
READERS = {
    "fills": ("probability", _fills),
    "probabilities": ("probability", _by_label),
    "candidates": ("probability", _candidates),
    "tokens": ("probability", _words),
    "scores": ("value", _by_label),
    "similarity": ("similarity", _one("similarity")),
    "probability": ("probability", _one("probability")),
    "embedding": ("value", _vector),
}


def next_tokens(
    logits: np.ndarray,
    tokenizer: Tokenizer,
    names: Sequence[str],
    came: Sequence[str | None],
    like: Answer | None = None,
) -> Answer:
    """Return the likeliest next tokens of a language model at each place of a text.

    Args:
        logits: Logits of the last places, (P, V), P <= T.
        tokenizer: The tokenizer of the output.
        names: The names of the T places.
        came: The token that follows each place in the text, T; None at the end.
        like: Another answer, whose candidates get a bar here, too.
    """
    logits = logits[:, : tokenizer.vocabulary_size].astype("float64")
    norms = np.stack([_log_sum_exp(logits / temperature) for temperature in TEMPERATURES], axis=-1)  # (T, temperatures)
    first, places = len(names) - len(logits), []
    for index, row in enumerate(logits):
        chosen = _likeliest(row)
        if like is not None:
            others = [bar.number for bar in like.places[index].bars if bar.number is not None]
            chosen = [*others, *(number for number in chosen[:NEW] if number not in others)]
        bars = _bars(row, chosen, norms[index, TEMPERATURES.index(1.0)], tokenizer)
        place = first + index
        places.append(Place(names[place], bars, place, tuple(norms[index].tolist()), came[place]))
    cut = f"The answer is shown at the last {len(logits)} of {len(names)} tokens."
    return Answer("probability", tuple(places), notes=(cut,) if first else ())


def _likeliest(logits: np.ndarray) -> list[int]:
    found = np.argpartition(-logits, min(TOP, len(logits) - 1))[:TOP]  # sorting them all takes ten times as long
    return found[np.argsort(-logits[found])].tolist()


def _bars(logits: np.ndarray, chosen: Sequence[int], norm: float, tokenizer: Tokenizer) -> tuple[Bar, ...]:
    bars = [
        Bar(label, float(np.exp(logits[number] - norm)), float(logits[number]), number)
        for label, number in zip(shown(tokenizer, chosen).names, chosen, strict=True)
    ]
    return tuple(sorted(bars, key=lambda bar: -bar.value))


def _log_sum_exp(x: np.ndarray) -> np.ndarray:
    most = x.max(-1, keepdims=True)
    return (np.log(np.exp(x - most).sum(-1, keepdims=True)) + most)[..., 0]
