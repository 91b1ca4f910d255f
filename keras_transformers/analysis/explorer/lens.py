"""What each layer adds to an answer: the model's own head on the stream behind each sub-layer, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_transformers.analysis.explorer.page_answers import MOST_PLACES
from keras_transformers.analysis.explorer.questions import Asked, Question
from keras_transformers.analysis.residual.logit_lens import LogitLens
from keras_transformers.analysis.residual.residual_stream import Step, record_stream
from keras_transformers.config.transformer_config import TransformerConfig

TOLERANCE = 1e-3  # of a sum, beside the logit


class LensRow(NamedTuple):
    """What the head reads in the stream behind a step.

    Args:
        layer, part: Of the step, as in `Step`.
        logit: Of the answer.
        probability: Of the answer; None where logits are no probabilities.
        rank: Of the answer, from 1, among the classes.
        best: What the head would answer here.
        best_probability: Of that.
        added: What the step adds to the logit of the answer; None where the logit is no sum of what steps add.
        share: Length of the vector that the step adds, beside the stream that it is added to; None for the embeddings.
    """

    layer: int | None
    part: str
    logit: float
    probability: float | None
    rank: int
    best: str
    best_probability: float | None
    added: float | None
    share: float | None


class LensPlace(NamedTuple):
    """One question, followed through the layers.

    Args:
        name, place: Of the question.
        answer: What the model answers.
        classes: Among how many.
        rows: One for each step.
        rest: What biases add to the logit of the answer; None as `LensRow.added`.
    """

    name: str
    place: int
    answer: str
    classes: int
    rows: tuple[LensRow, ...]
    rest: float | None


class Lens(NamedTuple):
    """The logit lens of a text.

    Args:
        places: The questions.
        is_sum: Whether the logit of each answer is the sum of what steps and biases add.
        norm_order: `"pre"` or `"post"`.
    """

    places: tuple[LensPlace, ...]
    is_sum: bool
    norm_order: str


def lens_of(config: TransformerConfig, asked: Asked) -> Lens:
    """Read a text and follow its answers through the layers.

    Args:
        config: Of the model.
        asked: What is asked of which text.
    """
    lens, steps, inputs = LogitLens(config, asked.model, asked.output), *_last(config, asked)
    questions = asked.questions[:MOST_PLACES]
    (output,) = lens.read(steps[-1:], inputs)
    targets = [int(question.logits(output).argmax()) for question in questions]
    read = [_readings(questions, targets, output) for output in lens.read(steps, inputs)]  # a list for each step
    sums = _additions(lens, steps, inputs, questions, targets) if lens.finish else None
    if sums is not None and not _is_sum([row.logit for row in read[-1]], *sums):
        sums = None
    places = []
    for index, (question, target) in enumerate(zip(questions, targets, strict=True)):
        shares = _shares(steps, target if question.token is None else question.token)
        rows = [
            row[index]._replace(
                layer=step.layer, part=step.part, share=share, added=float(sums[0][number, index]) if sums else None
            )
            for number, (step, row, share) in enumerate(zip(steps, read, shares, strict=True))
        ]
        classes = int(np.isfinite(question.logits(output)).sum())
        left = float(sums[1][index]) if sums else None
        places.append(LensPlace(question.name, question.place, question.label(target), classes, tuple(rows), left))
    return Lens(tuple(places), sums is not None, config.norm_order)


def _last(config: TransformerConfig, asked: Asked) -> tuple[list[Step], dict[str, np.ndarray]]:
    """Return the steps and inputs, cut to the last places where only these are asked."""
    steps = record_stream(config, asked.model, asked.inputs)
    if asked.last is None:
        return steps, dict(asked.inputs)
    cut = slice(-asked.last, None)
    steps = [step._replace(added=step.added[cut], states=step.states[cut]) for step in steps]
    return steps, {name: array[:, cut] for name, array in asked.inputs.items()}


def _readings(questions: Sequence[Question], targets: Sequence[int], output: np.ndarray) -> list[LensRow]:
    rows = []
    for question, target in zip(questions, targets, strict=True):
        logits = question.logits(output).astype("float64")
        best = int(logits.argmax())
        chances = _probabilities(logits, question.unit)
        mine, first = (None, None) if chances is None else (float(chances[target]), float(chances[best]))
        rank = 1 + int((logits > logits[target]).sum())
        rows.append(LensRow(None, "", float(logits[target]), mine, rank, question.label(best), first, None, None))
    return rows


def _probabilities(logits: np.ndarray, unit: str) -> np.ndarray | None:
    if unit == "value":
        return None
    if unit == "sigmoid":
        return 1 / (1 + np.exp(-logits))
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def _additions(
    lens: LogitLens, steps: Sequence[Step], inputs: dict, questions: Sequence[Question], targets: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return what each step adds to the logits of the answers, (steps, questions), and what biases add,
    (questions,).
    """

    def of_answers(output: np.ndarray) -> list[float]:
        pairs = zip(questions, targets, strict=True)
        return [float(question.logits(output)[target]) for question, target in pairs]

    added = [of_answers(output) for output in lens.additions(steps, inputs)]
    return np.array(added), np.array(of_answers(lens.rest(steps, inputs)))


def _is_sum(logits: Sequence[float], added: np.ndarray, rest: np.ndarray) -> bool:
    """Return whether what was added makes the logits: not so behind a pooler, which is no affine function."""
    largest = np.maximum(1.0, np.abs(added).max(0, initial=0.0))
    return bool((np.abs(added.sum(0) + rest - logits) <= TOLERANCE * largest).all())


def _shares(steps: Sequence[Step], token: int) -> list[float | None]:
    """Lengths of what is added at a token, beside the stream before it."""
    before = [None, *(np.linalg.norm(step.states[token]) for step in steps[:-1])]
    return [
        None if stream is None or not stream else float(np.linalg.norm(step.added[token]) / stream)
        for step, stream in zip(steps, before, strict=True)
    ]
