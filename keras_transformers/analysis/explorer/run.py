"""The run of one text through one model: its attention, its answer, and its answer without each head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_transformers.analysis.attention.ablation import Head, attention_of, without_heads
from keras_transformers.analysis.attention.recorded import Recorded, has_heads, record
from keras_transformers.analysis.explorer.lens import Lens, lens_of
from keras_transformers.analysis.explorer.page_answers import Answer
from keras_transformers.analysis.explorer.page_request import Request
from keras_transformers.analysis.explorer.reading import Reading, read_one_pass
from keras_transformers.analysis.explorer.tokens import Tokens
from keras_transformers.analysis.explorer.words import About, about
from keras_transformers.analysis.explorer.writing_steps import read_prompt, read_source
from keras_transformers.tasks import Task


class Map(NamedTuple):
    """One kind of attention, in all layers and heads.

    Args:
        kind: `"self"`, `"encoder"` or `"cross"`.
        rows, columns: The tokens of the queries, and of the keys.
        recorded: Queries, keys and weights.
    """

    kind: str
    rows: Tokens
    columns: Tokens
    recorded: Recorded


class Run(NamedTuple):
    """All that the page shows of one text.

    Args:
        request: The request.
        text: The whole text.
        tokens: The tokens of the text that the head reads.
        maps: One for each kind of attention; none for a model without attention.
        answer: The answer with the heads that the request leaves on.
        switched: Heads, each with the answer without it.
        notes: Notes for the user.
        about: Sentences about the model.
        lens: The logit lens; None if the output has no logits.
    """

    request: Request
    text: str
    tokens: Tokens
    maps: tuple[Map, ...]
    answer: Answer
    switched: tuple[tuple[Head, Answer], ...]
    notes: tuple[str, ...]
    about: About
    lens: Lens | None = None


def run(task: Task, request: Request, most_switched: int = 400) -> Run:
    """Run a text through a model, with all heads and without each.

    Args:
        task: A task, such as `zoo.load` returns.
        request: The text, and how to read it.
        most_switched: A model with more heads answers with all of them only.

    Raises:
        ValueError: The request is out of range, the model computes numbers that are not finite, the task cannot read
            the text, or its answer cannot be shown.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    >>> task = Task("causal_lm", gpt2(tokenizer.vocabulary_size, **sizes, eos_ids=[tokenizer.eos_id]), tokenizer)
    >>> [str(head) for head, answer in run(task, Request("a film")).switched]
    ['0.0', '0.1']
    """
    request = request.checked()
    for head in request.without:
        attention_of(task.model, head, task.config.kind)
    reading = read(task, request)
    with without_heads(task.model, request.without, task.config.kind):
        recorded = record(task.config, task.model, reading.inputs) if has_heads(task.config) else {}
        lens = lens_of(task.config, reading.asked) if reading.asked else None
    maps = tuple(Map(kind, *reading.sides[kind], recorded[kind]) for kind in reading.sides if kind in recorded)
    for one in maps:
        _check_finite("attention", one.recorded.weights)
    answer, heads = reading.answer(request.without), _heads(maps, task.config.num_block_groups)
    _check_finite("answer", [bar.value for place in answer.places for bar in place.bars])
    notes = (*reading.notes, *answer.notes)
    if len(heads) > most_switched:
        notes = (
            *notes,
            f"The model has {len(heads)} heads: the answer without each is left out. Name heads to switch off.",
        )
        heads = []
    switched = tuple((head, reading.answer((*request.without, head), answer)) for head in heads)
    description = about(task.config, task.model.count_params())
    tokens = reading.sides["self"][0]
    return Run(request, reading.text, tokens, maps, answer, switched, notes, description, lens)


def read(task: Task, request: Request) -> Reading:
    """Return a text as the task reads it: in one pass, as a prompt, or as a source text."""
    if not task.kind.writes_text:
        return read_one_pass(task, request)
    if request.pair is not None:
        raise ValueError(f"{task.name} takes no second text: leave it out.")
    return (read_source if task.config.kind == "encoder_decoder" else read_prompt)(task, request)


def _check_finite(name: str, numbers: np.ndarray | list[float]) -> None:
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"the model's {name} has numbers that are not finite: the weights of the model are damaged, or its "
            "training diverged. Load others."
        )


def _heads(maps: Sequence[Map], groups: int | None) -> list[Head]:
    """Return the heads that can be switched off; of blocks that share weights, the heads of the one layer."""
    return [
        Head(one.kind, layer, number)
        for one in maps
        for layer in range(groups or one.recorded.weights.shape[0])
        for number in range(one.recorded.weights.shape[1])
    ]
