"""Prompts, which a reader makes of texts: the decoder's first tokens, and the encoder's inputs if there is one."""

from __future__ import annotations

from typing import NamedTuple

from keras_transformers.config.limits import most_tokens
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.sources.rows import tell_cut
from keras_transformers.utils.tensor_types import Tensor

TOO_MANY = (
    "max_new_tokens must be less than {max_length}: the model takes at most that many tokens, including the first."
)
NO_ROOM = "max_new_tokens leaves no room for a prompt: the model takes {max_length} tokens in all."
TOO_LONG = "The conversation and max_new_tokens exceed the {max_length} tokens of the model: leave out old messages."
EMPTY = "The prompt is empty, and the model has no token that texts begin with."
NOTHING = "The text is blank: there is nothing to read."
BLANK = (EMPTY, NOTHING)  # such a text gives an empty one, as with Marian and OpenNMT
TEXTS, CHATS = "text", "chat"  # forms of texts: as they are, or conversations with the special tokens written out
UNBOUNDED = 2**16  # tokens of a new text where the model has no bound: memory is allocated for all that are requested


class Prompts(NamedTuple):
    """The prompts of a batch. A row with an error has a prompt, too, for which nothing is generated."""

    token_ids: Tensor  # int32 (B, P), padded on the right
    lengths: Tensor  # int32 (B,), at least 1
    source: dict[str, Tensor]  # of a model with an encoder, its inputs by name, each int32 (B, S); else {}
    truncated: Tensor  # boolean (B,), whether a text was cut
    error: Tensor  # string (B,), why nothing can be generated; "" if it can


def longest_text(config: TransformerConfig, max_length: int) -> int:
    """Return the largest number of tokens of prompt and new text together.

    Args:
        config: Configuration of the model.
        max_length: Tokens of a text that is read, at most.
    """
    may_be_longer = config.kind == "encoder_decoder" and most_tokens(config) > config.max_length
    return max(max_length, UNBOUNDED) if may_be_longer else max_length


def check_answer(truncated: bool, error: str, max_length: int) -> None:
    """Warn if a text was cut; raise a `ValueError` if it has an error, unless it is blank: then the new one is, too."""
    if error and error not in BLANK:
        raise ValueError(f"the text cannot be answered: {error}")
    tell_cut([truncated], max_length)


def begin_id(config: TransformerConfig) -> int | None:
    """Return the token that replaces an empty prompt; None if the model has none.

    Args:
        config: Configuration of the model.
    """
    return config.bos_id if config.bos_id is not None else next(iter(config.eos_ids), None)


def decoder_start_id(config: TransformerConfig) -> int:
    """Return the token that the decoder of an encoder-decoder begins with.

    Args:
        config: Configuration of the model.

    Raises:
        ValueError: It has none.
    """
    if config.decoder_start_id is None:
        raise ValueError("the decoder has no token to begin with: give config.decoder_start_id one.")
    return config.decoder_start_id
