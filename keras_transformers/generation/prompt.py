"""From a causal language model and its prompts to the state that the loop goes on from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformers.config import TransformerConfig
from keras_transformers.generation.decode import Choices, Method, State, rows_of_cache, start, with_room
from keras_transformers.generation.spelling import NOTHING_YET

TOO_MANY = "max_new_tokens must be less than {max_length}: the model takes as many tokens, and begins with one."
NO_ROOM = "max_new_tokens leaves no room for a prompt: the model takes {max_length} tokens in all."
EMPTY = "The prompt is empty, and the model has no token that texts begin with."
NOTHING = "The text is blank: there is nothing to read."


def begin_id(config: TransformerConfig) -> int | None:
    """The token that stands for an empty prompt; None if the model has none.

    Args:
        config: Of the model.
    """
    return config.bos_id if config.bos_id is not None else next(iter(config.eos_ids), None)


def start_id(config: TransformerConfig) -> int:
    """The token that the decoder of a model of two stacks begins with.

    Args:
        config: Of the model.

    Raises:
        ValueError: It has none.
    """
    if config.decoder_start_id is None:
        raise ValueError("the decoder has no token to begin with: give config.decoder_start_id one.")
    return config.decoder_start_id


def start_prompts(
    prefill: Callable, method: Method, growth: int | None, prompts: Any, lengths: Any, limit: Any, choices: Choices,
    sequences: Any, room: Any = None, source: dict[str, Any] | None = None,
) -> State:  # fmt: skip
    """Reads the prompts, all at once.

    Args:
        prefill: From `token_ids` and `padding_mask` to the `cache` (`models.decoder.prefill`).
        method: How rows grow: `sampling.sample`, or a `BeamSearch`.
        growth: `Decoder.growth`.
        prompts: int32 (B, P), padded on the right.
        lengths: int32 (B,), at least 1.
        limit: int32 (B,), tokens of prompt and text at most.
        choices: How to choose, for B * n rows: those of the first prompt first.
        sequences: n, texts or beams for each prompt.
        room: Places for new tokens behind P, where it must be known beforehand (JAX); as many as needed when None.
        source: Of a model of two stacks: `encoder_token_ids` and `encoder_padding_mask`, both int32 (B, S).

    Returns:
        The state of B * n rows.
    """
    longest = ops.shape(prompts)[1]
    mask = ops.cast(ops.arange(longest, dtype="int32") < ops.expand_dims(lengths, 1), "int32")
    cache = prefill({"token_ids": prompts, "padding_mask": mask, **(source or {})})["cache"]
    room = ops.maximum(ops.max(limit), longest) - longest if room is None else room
    cache = with_room(cache, room if growth is None else ops.minimum(room, growth))
    if source:
        # What rows keep beside the blocks' own: the mask, and how much each token of the source was attended to.
        seen = source["encoder_padding_mask"]
        cache.append({"cross_mask": seen, "coverage": ops.zeros_like(seen, dtype="float32")})
    ids = ops.pad(prompts, [(0, 0), (0, room)])
    order = ops.repeat(ops.arange(ops.shape(lengths)[0], dtype="int32"), sequences)
    ids, lengths, limit = (ops.take(x, order, axis=0) for x in (ids, lengths, limit))
    last = ops.take_along_axis(ids, ops.expand_dims(lengths - 1, 1), axis=1)[:, 0]
    last_text = ops.full_like(last, NOTHING_YET) if source else last
    return start(method, rows_of_cache(cache, order), ids, lengths, limit, choices, last_text)


def step_beside_source(step: Callable, token_ids: Any, places: Any, cache: Any) -> tuple[Any, Any]:
    """`Decoder.step` of a model of two stacks; coverage adds up the last block's attention, averaged over the heads.

    Args:
        step: `models.decoder.step`, with `cross_attention_scores`.
        token_ids, places, cache: As for `Decoder.step`, of a state of `start_prompts`.
    """
    *cache, source = cache
    inputs = {"token_ids": token_ids, "cache_positions": places, "cache": cache}
    outputs = step(inputs | {"encoder_padding_mask": source["cross_mask"]})
    scores = ops.cast(ops.mean(outputs["cross_attention_scores"][:, -1, :, -1], axis=1), "float32")
    seen = source | {"coverage": source["coverage"] + scores}
    return outputs["hidden_states"][:, 0], [*outputs["cache"], seen]
