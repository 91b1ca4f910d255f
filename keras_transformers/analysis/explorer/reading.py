"""A text as a task reads it: the model's inputs, tokens, and outputs with all heads or without some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.analysis.attention.ablation import Head
from keras_transformers.analysis.explorer.page_answers import Answer, of_prediction
from keras_transformers.analysis.explorer.page_request import MOST_TOKENS, Request
from keras_transformers.analysis.explorer.passes import kept
from keras_transformers.analysis.explorer.questions import Asked, asked_by_one_pass
from keras_transformers.analysis.explorer.replay import Noting, replayed, tensors_of
from keras_transformers.analysis.explorer.tokens import Tokens, shown
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.parts import Setup

GAP_TASKS = ("masked_lm", "pretraining")


class Reading(NamedTuple):
    """A text as a model reads it.

    Args:
        text: The whole text; of a language model with the tokens that it has written.
        inputs: The model's inputs, int32 (1, T) each.
        sides: The tokens of queries and of keys for each kind of attention.
        answer: Function that returns the answer with heads switched off, and an answer to compare with or None.
        notes: Notes for the user, such as that the text was cut.
        asked: The questions for the logit lens; None if the output has no logits.
    """

    text: str
    inputs: Mapping[str, Any]
    sides: Mapping[str, tuple[Tokens, Tokens]]
    answer: Callable[..., Answer]
    notes: tuple[str, ...]
    asked: Asked | None = None


def read_one_pass(task: Task, request: Request) -> Reading:
    """Return a text as a task reads it that predicts in one pass of its model.

    Args:
        task: The task.
        request: A checked request.

    Raises:
        ValueError: There is a second text and the task takes none, or the other way round; there is nothing to fill in;
            or a prediction of the task cannot be shown.
    """
    columns = [request.text] if request.pair is None else [request.text, request.pair]
    answers, setup = _one_pass(task), short(task)
    signature = _signature(answers, task.name, len(columns))
    read = [make([column]) for make, column in zip(answers.read_columns, columns, strict=False)]
    reader = Noting(setup)
    signature.run(reader, *read)
    encoded = _first_row(reader.encoded[0])
    ids = encoded["token_ids"][0].tolist()
    tokens, gaps = shown(setup.tokenizer, ids), _gaps(task, ids)
    passes, inputs = kept(task, len(columns), lambda: replayed(task, signature)), tensors_of(reader.encoded, read)

    def answer(without: Sequence[Head] = (), like: Answer | None = None) -> Answer:
        outputs = passes(inputs, without)
        return of_prediction(answers.describe({name: column[0] for name, column in outputs.items()}), gaps)

    notes = [cut_note(setup, len(ids))] if encoded["truncated"][0] else []
    if len(reader.encoded) > 1:
        notes.append("Each text is read separately: the maps are for the first text.")
    if len(reader.encoded[0]["token_ids"]) > 1:
        notes.append("A long text is read in windows: the maps are for the first window.")
    return Reading(
        " / ".join(filter(None, (request.text, request.pair))),
        encoded,
        {"self": (tokens, tokens)},
        answer,
        tuple(notes),
        asked_by_one_pass(task, encoded, tokens, gaps),
    )


def vectors_of(task: Task, texts: Sequence[str]) -> np.ndarray:
    """Return the vectors of texts, float32 (N, D), from a task of sentence embeddings."""
    signature, vectors = _signature(_one_pass(task), task.name, 1), []
    passes = kept(task, 1, lambda: replayed(task, signature))
    for text in texts:
        reader = Noting(short(task))
        signature.run(reader, [text])
        vectors.append(passes(tensors_of(reader.encoded, [[text]]))["embedding"][0])
    return np.stack(vectors)


def _first_row(encoded: Tensors) -> dict[str, np.ndarray]:
    """Return the first text, or its first window, without padding."""
    arrays = {name: np.asarray(value) for name, value in encoded.items()}
    length = int(arrays["padding_mask"][0].astype(bool).sum())
    return {name: array[:1, :length] if array.ndim > 1 else array[:1] for name, array in arrays.items()}


def cut_note(setup: Setup, count: int) -> str:
    """Return the note for a text of which only `count` tokens are read."""
    part = "first" if setup.tokenizer.truncation_side == "right" else "last"
    return f"The text was cut to its {part} {count} tokens."


def short(task: Task) -> Setup:
    """Return the setup of a task with a `max_length` that can be shown."""
    setup = task.parts.answers.setup
    return replace(setup, max_length=min(setup.max_length, MOST_TOKENS))


def _gaps(task: Task, ids: list[int]) -> list[int]:
    """Return the positions of `[MASK]`, if the task fills them."""
    if task.name not in GAP_TASKS:
        return []
    gaps = [place for place, number in enumerate(ids) if number == task.tokenizer.mask_id]
    if not gaps:
        mask = task.tokenizer.id_to_token(task.tokenizer.mask_id)
        raise ValueError(f"there is nothing to fill in: write {mask} where a word is to be guessed.")
    return gaps


def _one_pass(task: Task) -> OnePass:
    answers = task.parts.answers
    if not isinstance(answers, OnePass):
        raise ValueError(f"{task.name} does not answer by one pass of its model: expected a task that does.")
    return answers


def _signature(answers: OnePass, task: str, texts: int) -> Signature:
    """Return the signature that takes so many texts."""
    signatures = [signature for signature in answers.signatures.values() if {*signature.ranks} == {1}]
    for signature in signatures:
        if len(signature.inputs) == texts:
            return signature
    if not signatures:
        raise ValueError(f"{task} takes several texts a row, which the page cannot show: explore another task.")
    if any(len(signature.inputs) > texts for signature in signatures):
        raise ValueError(f"{task} compares two texts: give a second one.")
    raise ValueError(f"{task} takes no second text: leave it out.")
