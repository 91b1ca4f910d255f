"""The logit lens of a text: the model's own head on the residual stream after each sub-layer, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_transformers.analysis.explorer.page_answers import MOST_PLACES
from keras_transformers.analysis.explorer.questions import Asked, Question
from keras_transformers.analysis.residual.logit_lens import LogitLens
from keras_transformers.analysis.residual.residual_stream import Step, record_stream
from keras_transformers.config.transformer_config import TransformerConfig

TOLERANCE = 1e-3  # of the sum of additions, relative to the largest of them


class LensRow(NamedTuple):
    """The output of the head for the stream after a step.

    Args:
        layer, part: The step's, as in `Step`.
        logit: Logit of the answer.
        probability: Probability of the answer; None if logits do not give probabilities.
        rank: Rank of the answer among the classes, from 1.
        best: The answer that the head would give here.
        best_probability: Probability of `best`.
        added: Contribution of the step to the logit of the answer; None if the logit is no sum of such parts.
        share: Norm of the vector that the step adds, divided by the norm of the stream before it; None for the
            embeddings.
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
        name, place: The question's.
        answer: The model's answer.
        classes: Number of possible answers.
        rows: One for each step.
        rest: Contribution of the biases to the logit of the answer; None if `LensRow.added` is None.
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
        is_sum: Whether the logit of each answer is the sum of the parts that steps and biases add.
        norm_order: The configuration's.
    """

    places: tuple[LensPlace, ...]
    is_sum: bool
    norm_order: str


def lens_of(config: TransformerConfig, asked: Asked) -> Lens:
    """Run the forward pass of a text and follow its answers through the layers.

    Args:
        config: The model's configuration.
        asked: The questions, with the inputs of the text.
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
    """Return the steps and inputs, cut to the last tokens if only these are asked."""
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
        found = _probabilities(logits, question.unit)
        probability, of_best = (None, None) if found is None else (float(found[target]), float(found[best]))
        rank = 1 + int((logits > logits[target]).sum())
        row = LensRow(None, "", float(logits[target]), probability, rank, question.label(best), of_best, None, None)
        rows.append(row)
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
    """Return the parts of the answers' logits: of the steps (steps, questions), and of biases (questions,)."""

    def of_answers(output: np.ndarray) -> list[float]:
        pairs = zip(questions, targets, strict=True)
        return [float(question.logits(output)[target]) for question, target in pairs]

    added = [of_answers(output) for output in lens.additions(steps, inputs)]
    return np.array(added), np.array(of_answers(lens.rest(steps, inputs)))


def _is_sum(logits: Sequence[float], added: np.ndarray, rest: np.ndarray) -> bool:
    """Return whether the parts add up to the logits: they do not if a pooler follows, which is no affine function."""
    largest = np.maximum(1.0, np.abs(added).max(0, initial=0.0))
    return bool((np.abs(added.sum(0) + rest - logits) <= TOLERANCE * largest).all())


def _shares(steps: Sequence[Step], token: int) -> list[float | None]:
    """Return for each step the norm of what it adds at a token, divided by the norm of the stream before it."""
    before = [None, *(np.linalg.norm(step.states[token]) for step in steps[:-1])]
    return [
        None if stream is None or not stream else float(np.linalg.norm(step.added[token]) / stream)
        for step, stream in zip(steps, before, strict=True)
    ]
