"""From a causal language model and its prompts to the state that the loop goes on from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformers.config import TransformerConfig
from keras_transformers.generation.decode import Choices, Decoder, Method, State, start

NO_ROOM = "max_new_tokens leaves no room for a prompt: the model takes {max_length} tokens in all."
EMPTY = "The prompt is empty, and the model has no token that texts begin with."


def begin_id(config: TransformerConfig) -> int | None:
    """The token that stands for an empty prompt; None if the model has none.

    Args:
        config: Of the model.
    """
    return config.bos_id if config.bos_id is not None else next(iter(config.eos_ids), None)


def start_prompts(
    decoder: Decoder, method: Method, prefill: Callable, prompts: Any, lengths: Any, limit: Any, choices: Choices,
    sequences: Any, room: Any = None,
) -> State:  # fmt: skip
    """Runs the prompts, all at once, and chooses the first token of each text.

    Args:
        decoder: The model.
        method: How rows grow: `sampling.sample`, or a `BeamSearch`.
        prefill: From `token_ids` and `padding_mask` to `hidden_states` and `cache` (`models.decoder.prefill`).
        prompts: int32 (B, P), padded on the right.
        lengths: int32 (B,), at least 1.
        limit: int32 (B,), tokens of prompt and text at most.
        choices: How to choose, for B * n rows: those of the first prompt first.
        sequences: n, texts or beams for each prompt.
        room: Places for new tokens behind P, where it must be known beforehand (JAX); as many as needed when None.

    Returns:
        The state of B * n rows.
    """
    longest = ops.shape(prompts)[1]
    mask = ops.cast(ops.arange(longest, dtype="int32") < ops.expand_dims(lengths, 1), "int32")
    outputs = prefill({"token_ids": prompts, "padding_mask": mask})
    last = ops.reshape(lengths - 1, (-1, 1, 1))
    hidden_states = ops.take_along_axis(outputs["hidden_states"], last, axis=1)[:, 0]
    room = ops.maximum(ops.max(limit) - longest, 0) if room is None else room

    def rows(tensor, spare, axis):
        """n rows for each prompt, with places for the new tokens."""
        widths = [(0, 0)] * len(tensor.shape)
        widths[axis] = (0, spare)
        return ops.repeat(ops.pad(tensor, widths), sequences, axis=0)

    cache = [{name: rows(tensor, room, 2) for name, tensor in own.items()} for own in outputs["cache"]]
    prompts, hidden_states = rows(prompts, room, 1), ops.repeat(hidden_states, sequences, axis=0)
    lengths, limit = (ops.repeat(x, sequences, axis=0) for x in (lengths, limit))
    return start(decoder, method, hidden_states, cache, prompts, lengths, limit, choices)
