"""Sources of windows with targets, from questions, contexts and answers as given by the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_transformers.data.sources.rows import Rows
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.inputs.context_windows import Windows, encode_windows
from keras_transformers.tasks.inputs.sources import is_stream, rows_of
from keras_transformers.tasks.questions.given_answers import NO_TARGET, Answer, answer_targets, misplaced, read_answers
from keras_transformers.utils.text_checks import check_texts, listed


def span_source(setup: Setup, windows: Windows) -> Callable[..., Rows]:
    """Return the source of extractive question answering, a `Parts.source` with a row for each window.

    Args:
        setup: Setup of the task.
        windows: The sizes of windows.
    """

    def source(texts: Any, labels: Any, pairs: Any) -> Rows:
        if is_stream(texts, labels, pairs):
            raise ValueError(
                f"{setup.kind.name} takes lists of questions, contexts and answers: received a tf.data.Dataset."
            )
        questions, contexts = check_pairs(texts, pairs)
        answers = None if labels is None else check_answers(labels, contexts)
        encoded, cut = encode_windows(setup.tokenizer, questions, contexts, windows)
        _tell_cut(cut, windows)
        if answers is None:
            return rows_of(encoded, setup.config)
        bounds = np.searchsorted([window.row for window in encoded], range(1, len(questions)))
        parts = np.split(np.arange(len(encoded)), bounds)  # the windows of each text
        targets = [
            answer_targets([encoded[number] for number in part], right[0] if right else None)
            for part, right in zip(parts, answers, strict=True)
        ]
        _tell_lost(targets, answers)
        return rows_of(encoded, setup.config, np.concatenate(targets))

    return source


def check_pairs(questions: Any, contexts: Any) -> tuple[list[str], list[str]]:
    """Return questions and contexts as lists; raise a `ValueError` if there are none, or not as many of each."""
    questions = check_texts("texts", questions)
    if contexts is None:
        raise ValueError("question_answering received questions alone: pass the context of each one as pairs=.")
    contexts = check_texts("pairs", contexts)
    if len(questions) != len(contexts):
        raise ValueError(
            f"received {len(questions)} questions and {len(contexts)} contexts: expected one context for each question."
        )
    if not questions:
        raise ValueError("received no questions: expected at least one, with its context.")
    return questions, contexts


def check_answers(labels: Any, contexts: Sequence[str]) -> list[list[Answer]]:
    """Return the right answers to each question; raise a `ValueError` for one of another form or at a wrong place."""
    rows = listed(labels)
    if rows is None:
        raise ValueError(f"expected a list with the answers to each question: received {str(labels)[:60]!r}.")
    if len(rows) != len(contexts):
        raise ValueError(
            f"received answers to {len(rows)} questions for {len(contexts)} contexts: expected one entry each; None "
            "where there is no answer."
        )
    answers = []
    for row, (label, context) in enumerate(zip(rows, contexts, strict=True)):
        try:
            answers.append(read_answers(label))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
        for answer in answers[-1]:
            if wrong := misplaced(context, answer):
                raise ValueError(f"row {row}: {wrong}. Places count characters (code points), from 0.")
    return answers


def _tell_cut(cut: list[bool], windows: Windows) -> None:
    """Warn of questions that were cut."""
    if any(cut):
        warnings.warn(
            f"{sum(cut)} of {len(cut)} questions were cut: beside their contexts, they are too long for windows of "
            f"max_length={windows.max_length}.",
            stacklevel=4,
        )


def _tell_lost(targets: list[np.ndarray], answers: list[list[Answer]]) -> None:
    """Warn of answers without a token."""
    if lost := [row for row, target in enumerate(targets) if (target == NO_TARGET).any()]:
        text = answers[lost[0]][0][1]
        warnings.warn(
            f"{len(lost)} of {len(targets)} answers give no token, such as {text!r} in row {lost[0]}: they are used "
            "neither for training nor for token metrics.",
            stacklevel=4,
        )
