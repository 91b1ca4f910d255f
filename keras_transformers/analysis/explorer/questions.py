"""Where in the output of a model the answers of a page stand: what the logit lens follows from layer to layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformers.analysis.explorer.tokens import Tokens, shown
from keras_transformers.tasks import Task
from keras_transformers.tasks.pretraining import MASKED_LM
from keras_transformers.text.tokenizer import Tokenizer

Inputs = Mapping[str, np.ndarray]


class Question(NamedTuple):
    """One question that a model answers by logits.

    Args:
        name: What is asked.
        place: Number of the place of the answer that it belongs to.
        logits: From the output without its first axis to the logits (C,); minus infinity for what cannot be an answer.
        unit: How they become probabilities: `"softmax"`, `"sigmoid"`; `"value"` where they are none.
        label: From the number of a class to its name.
        token: Number of the token whose stream the head reads; None where it is the class itself.
    """

    name: str
    place: int
    logits: Callable[[np.ndarray], np.ndarray]
    unit: str
    label: Callable[[int], str]
    token: int | None


class Asked(NamedTuple):
    """The questions of a text.

    Args:
        model: That answers.
        output: Name of its output.
        inputs: Of the model, (1, T) each.
        questions: In the order of the places of the answer.
        last: Only so many of the last tokens are asked; None for all.
    """

    model: keras.Model
    output: str
    inputs: Inputs
    questions: tuple[Question, ...]
    last: int | None = None


def asked_by_one_pass(task: Task, encoded: Inputs, tokens: Tokens, gaps: Sequence[int]) -> Asked | None:
    """Return the questions of a task that answers by one pass; None for those whose answer has no logits, such as a
    vector.

    Args:
        task: Of any such kind.
        encoded: The one text as a reader gives it, without padding.
        tokens: Of the text.
        gaps: Numbers of the tokens `[MASK]` that are to be filled.
    """
    model = task.parts.answers.model
    output = MASKED_LM if MASKED_LM in model.output else "logits"
    if task.name not in ASKED or output not in model.output:
        return None
    inputs = {**encoded, "mask_positions": np.array([gaps or [0]], np.int32)}
    questions = ASKED[task.name](task, encoded, tokens, gaps)
    return Asked(model, output, {name: inputs[name] for name in model.input}, tuple(questions))


def asked_of_tokens(
    task: Task, inputs: Inputs, names: Sequence[str], tokenizer: Tokenizer, last: int | None = None
) -> Asked:
    """Return the questions of a language model: the next token after each of the last ones.

    Args:
        task: That writes.
        inputs: Of the model.
        names: Of all places.
        tokenizer: Of what is written.
        last: As for `Asked`.
    """
    count = min(last or len(names), len(names))
    first = len(names) - count
    questions = [
        Question(name, row, _row(row, tokenizer), "softmax", _token_name(tokenizer), row)
        for row, name in enumerate(names[first:])
    ]
    return Asked(task.model, "logits", {name: inputs[name] for name in task.model.input}, tuple(questions), count)


def _row(row: int, tokenizer: Tokenizer | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """Return one row of an output (M, C); a model may have more rows of logits than there are tokens."""
    return lambda output: output[row, : tokenizer.vocabulary_size if tokenizer else None]


def _token_name(tokenizer: Tokenizer) -> Callable[[int], str]:
    return lambda number: shown(tokenizer, [number]).names[0]


def _gap_questions(task: Any, encoded: Inputs, tokens: Tokens, gaps: Sequence[int]) -> list[Question]:
    name = _token_name(task.tokenizer)
    return [
        Question(f"gap {row + 1}", row, _row(row, task.tokenizer), "softmax", name, gap) for row, gap in enumerate(gaps)
    ]


UNITS = {"single_label": "softmax", "multi_label": "sigmoid", "regression": "value"}


def _class_question(task: Any, encoded: Inputs, tokens: Tokens, gaps: Any) -> list[Question]:
    token = 0 if task.config.kind == "encoder" else len(tokens.names) - 1
    return [Question("the text", 0, lambda output: output, UNITS[task.problem], lambda n: str(task.labels[n]), token)]


def _pair_question(task: Any, encoded: Inputs, tokens: Tokens, gaps: Any) -> list[Question]:
    return [Question("the two texts", 0, lambda output: output, "sigmoid", lambda number: "belongs to it", 0)]


def _word_questions(task: Any, encoded: Inputs, tokens: Tokens, gaps: Any) -> list[Question]:
    words = encoded["word_ids"][0]
    firsts = np.flatnonzero((words >= 0) & (words != np.concatenate([[-1], words[:-1]])))
    return [
        Question(tokens.names[token], row, _row(token), "softmax", lambda number: str(task.labels[number]), token)
        for row, token in enumerate(firsts.tolist())
    ]


def _span_questions(task: Any, encoded: Inputs, tokens: Tokens, gaps: Any) -> list[Question]:
    may_be = (encoded["word_ids"][0] >= 0) & (encoded["segment_ids"][0] == 1)
    may_be[0] = True  # [CLS] stands for no answer

    def end(column: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda output: np.where(may_be, output[:, column], -np.inf)

    return [
        Question(name, 0, end(column), "softmax", lambda number: tokens.names[number], None)
        for column, name in enumerate(("where the answer begins", "where the answer ends"))
    ]


ASKED: dict[str, Callable[..., list[Question]]] = {
    "masked_lm": _gap_questions,
    "pretraining": _gap_questions,
    "classification": _class_question,
    "ranking": _pair_question,
    "token_classification": _word_questions,
    "question_answering": _span_questions,
}
