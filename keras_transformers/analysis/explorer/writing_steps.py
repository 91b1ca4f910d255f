"""Prompts that a language model continues, and source texts that it translates, with the logits of all tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.analysis.attention.ablation import Head
from keras_transformers.analysis.explorer.page_answers import MOST_PLACES, Answer, next_tokens
from keras_transformers.analysis.explorer.page_request import Request
from keras_transformers.analysis.explorer.passes import Passes, kept
from keras_transformers.analysis.explorer.questions import asked_of_tokens
from keras_transformers.analysis.explorer.reading import Reading, cut_note, short
from keras_transformers.analysis.explorer.tokens import shown
from keras_transformers.generation.prompts import begin_id, decoder_start_id
from keras_transformers.tasks import Task

Inputs = Mapping[str, np.ndarray]


def read_prompt(task: Task, request: Request) -> Reading:
    """Return a prompt and its continuation, with at most `request.new_tokens` tokens, as the model reads them.

    Args:
        task: A task of a decoder.
        request: A checked request.

    Raises:
        ValueError: There is no room for the new tokens.
    """
    room = short(task).max_length - request.new_tokens
    if room < 1:
        raise ValueError(
            f"{request.new_tokens} new tokens leave no room for a text: take less than {room + request.new_tokens}."
        )
    prompt = task.tokenizer.encode([request.text])[0].ids or [begin_id(task.config) or 0]
    notes = (f"Only the last {room} of {len(prompt)} tokens are read.",) if len(prompt) > room else ()
    ids = _write(task, _prompt_inputs, prompt[-room:], request, request.new_tokens)
    tokens = shown(task.tokenizer, ids)
    names = [f"after {name}" for name in tokens.names]

    def answer(without: Sequence[Head] = (), like: Answer | None = None) -> Answer:
        logits = _logits(task, _prompt_inputs(ids), without)
        found = next_tokens(logits, task.tokenizer, names, [*tokens.names[1:], None], like)
        return found._replace(text=task.tokenizer.decode(ids[len(prompt[-room:]) :]))

    asked = asked_of_tokens(task, _prompt_inputs(ids), names, task.tokenizer, MOST_PLACES)
    return Reading(task.tokenizer.decode(ids), _prompt_inputs(ids), {"self": (tokens, tokens)}, answer, notes, asked)


def read_source(task: Task, request: Request) -> Reading:
    """Return a source text and the target that the model writes for it, by greedy decoding or sampling.

    Args:
        task: A task of an encoder and a decoder.
        request: A checked request; `new_tokens` of 0 means `MOST_WRITTEN`.
    """
    setup, target = short(task), task.target_tokenizer
    encoded = setup.tokenizer.encode([request.text], max_length=setup.max_length)[0]
    notes = (cut_note(setup, len(encoded.ids)),) if encoded.truncated else ()

    def inputs_of(ids: Sequence[int]) -> Inputs:
        source = _prompt_inputs(encoded.ids)
        return {**{f"encoder_{name}": array for name, array in source.items()}, **_prompt_inputs(ids)}

    most = min(request.new_tokens or MOST_WRITTEN, setup.max_length - 1)
    written = _write(task, inputs_of, [decoder_start_id(task.config)], request, most)
    ids, came = written[:-1] if len(written) > 1 else written, shown(target, written[1:]).names
    rows, columns = shown(target, ids), shown(setup.tokenizer, encoded.ids)
    rows = rows._replace(names=(f"{rows.names[0]} (start)", *rows.names[1:]), special=(True, *rows.special[1:]))

    names = [f"after {name}" for name in rows.names]

    def answer(without: Sequence[Head] = (), like: Answer | None = None) -> Answer:
        logits = _logits(task, inputs_of(ids), without)
        return next_tokens(logits, target, names, came, like)._replace(text=target.decode(written[1:]))

    sides = {"cross": (rows, columns), "encoder": (columns, columns), "self": (rows, rows)}
    asked = asked_of_tokens(task, inputs_of(ids), names, target, MOST_PLACES)
    return Reading(request.text, inputs_of(ids), sides, answer, notes, asked)


MOST_WRITTEN = 48


def _prompt_inputs(ids: Sequence[int]) -> Inputs:
    token_ids = np.array([ids], np.int32)
    return {"token_ids": token_ids, "padding_mask": np.ones_like(token_ids)}


def _logits(task: Task, inputs: Inputs, without: Sequence[Head]) -> np.ndarray:
    """Return the logits (P, V) of the last P tokens."""

    def forward(tensors: dict[str, Any]) -> dict[str, Any]:
        return {"logits": ops.cast(task.model(tensors, training=False)["logits"][:, -MOST_PLACES:], "float32")}

    tensors = {name: ops.convert_to_tensor(inputs[name]) for name in task.model.input}
    return kept(task, "logits", lambda: Passes(task, forward))(tensors, without)["logits"][0]


def _write(
    task: Task, inputs_of: Callable[[Sequence[int]], Inputs], ids: list[int], request: Request, most: int
) -> list[int]:
    """Return the ids and those that the model writes after them, up to an end token."""
    ids, forced = list(ids), task.generation.get("forced_bos_id")
    for step in range(most):
        logits = _logits(task, inputs_of(ids), request.without)[-1]
        ids.append(forced if step == 0 and forced is not None else _choose(task, logits, request, len(ids)))
        if ids[-1] in task.config.eos_ids:
            break
    return ids


def _choose(task: Task, logits: np.ndarray, request: Request, place: int) -> int:
    logits = logits.astype("float64")
    logits[list(task.generation.get("suppressed_ids", ()))] = -np.inf
    if not request.temperature:
        return int(logits.argmax())
    noise = np.random.default_rng([request.seed, place]).gumbel(size=logits.shape)  # a draw by the Gumbel-max trick
    return int((logits / request.temperature + noise).argmax())
