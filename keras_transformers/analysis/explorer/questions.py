"""The questions of a text: where in the model's output their logits are, for the logit lens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformers.analysis.explorer.page_answers import REPLACED
from keras_transformers.analysis.explorer.tokens import Tokens, shown
from keras_transformers.tasks import Task
from keras_transformers.tasks.pretraining import MASKED_LM
from keras_transformers.text.tokenizer import Tokenizer

Inputs = Mapping[str, np.ndarray]


class Question(NamedTuple):
    """One question that a model answers by logits.

    Args:
        name: The question.
        place: Number of its place in the answer.
        logits: Function that takes the logits (C,) from the output without its first axis; minus infinity for a class
            that cannot be the answer.
        unit: `"softmax"` or `"sigmoid"` for logits of probabilities; `"value"` for other numbers.
        label: Function that returns the name of a class by its number.
        token: Number of the token whose stream the head reads; None if it is the number of the class.
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
        model: The model.
        output: Name of the output that has the logits.
        inputs: The model's inputs, (1, T) each.
        questions: Questions in the order of the positions in the answer.
        last: Number of last tokens to ask; None for all.
    """

    model: keras.Model
    output: str
    inputs: Inputs
    questions: tuple[Question, ...]
    last: int | None = None


def asked_by_one_pass(task: Task, encoded: Inputs, tokens: Tokens, gaps: Sequence[int]) -> Asked | None:
    """Return the questions of a task that predicts in one pass; None if its output has no logits, such as a vector.

    Args:
        task: The task.
        encoded: The text as a reader returns it, without padding.
        tokens: The tokens of the text.
        gaps: Numbers of the tokens `[MASK]` to fill.
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
        task: A task that writes.
        inputs: The model's inputs.
        names: The names of all places.
        tokenizer: The tokenizer of the output.
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
    """Return a function that takes a row of an output (M, C), cut to the vocabulary of a tokenizer."""
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


def _token_questions(task: Any, encoded: Inputs, tokens: Tokens, gaps: Any) -> list[Question]:
    starts, ends = encoded["offsets"][0].T
    of_text = np.flatnonzero((encoded["sequence_ids"][0] >= 0) & (starts < ends))
    return [
        Question(tokens.names[token], row, _scalar(token), "sigmoid", lambda number: REPLACED, token)
        for row, token in enumerate(of_text.tolist())
    ]


def _scalar(row: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that takes a number of an output (T,), as (1,)."""
    return lambda output: output[row : row + 1]


def _span_questions(task: Any, encoded: Inputs, tokens: Tokens, gaps: Any) -> list[Question]:
    is_allowed = (encoded["word_ids"][0] >= 0) & (encoded["sequence_ids"][0] == 1)
    is_allowed[0] = True  # [CLS] stands for no answer

    def end(column: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda output: np.where(is_allowed, output[:, column], -np.inf)

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
    "replaced_tokens": _token_questions,
    "question_answering": _span_questions,
}
