"""The bytes that each token adds to a growing text, which always equals the decoded one.

Only bytes that are no UTF-8 differ: each broken character becomes U+FFFD, as in `bytes.decode`. The decoder
ByteFallback replaces every byte of a run that holds one, whole characters too, which a stream may have sent already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.generation.stop import NO_BYTE
from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.tensor_types import Tensor

if TYPE_CHECKING:
    from keras_transformers.text.tokenizer import Tokenizer

NOTHING_YET = -1  # the entry before the first token of a text


class Spelling(NamedTuple):
    """The bytes of tokens: a body, added at once, and a rest, such as the space after a word, added before the next.

    Args:
        bodies, rests: Bytes of each id in mid-sentence. If the first token of a text is decoded in another way, the
            bytes of each id as the first token follow: V or 2 V entries.
        is_text: Whether each of the V ids adds text; the others, special tokens, are skipped.
    """

    bodies: list[bytes]
    rests: list[bytes]
    is_text: list[bool]

    def text(self, token_ids: Sequence[int], before: int = NOTHING_YET) -> bytes:
        """Return the bytes that tokens spell.

        Args:
            token_ids: Token ids of the text.
            before: The token before them, of the prompt that they continue.
        """
        content, last, size = bytearray(), before, len(self.is_text)
        for number in token_ids:
            if self.is_text[number]:
                content += self.rests[last] if last >= 0 else b""
                last = number + (size if last < 0 and len(self.bodies) > size else 0)
                content += self.bodies[last]
        return bytes(content)


def spell(tokenizer: Tokenizer, config: TransformerConfig, begins: bool) -> Spelling:
    """Return the spelling of a vocabulary.

    Args:
        tokenizer: A `Tokenizer`.
        config: Configuration of the model. Its end tokens and rows without a token spell nothing.
        begins: Whether generated texts are complete (encoder-decoder); if not, they continue prompts.

    Raises:
        ValueError: As `text.pieces.token_bytes`.
    """

    def entries(first):
        places = (tokenizer.token_bytes(first, last) for last in (False, True))
        inside, last = (spelled(place, config.eos_ids, config.vocabulary_size) for place in places)
        return [_parts(*both) for both in zip(inside, last, strict=True)]

    inside, first = entries(False), entries(True) if begins else []
    is_text = [any(map(any, both)) for both in zip(inside, first or inside, strict=True)]
    bodies, rests = map(list, zip(*inside, *(first if first != inside else []), strict=True))
    return Spelling(bodies, rests, is_text)


def byte_table(token_bytes: list[bytes]) -> np.ndarray:
    """Return the bytes of tokens as a table: int32 (V, W), filled with `NO_BYTE`."""
    table = np.full((len(token_bytes), max(map(len, token_bytes), default=0) or 1), NO_BYTE, np.int32)
    for row, content in zip(table, token_bytes, strict=True):
        row[: len(content)] = list(content)
    return table


def spelled(token_bytes: Sequence[bytes], eos_ids: Iterable[int], vocabulary_size: int) -> list[bytes]:
    """Return the bytes that each id adds to a new text; end tokens, and rows of the model without a token, add none."""
    ends = set(eos_ids)
    spelled = [b"" if number in ends else content for number, content in enumerate(token_bytes)]
    return spelled + [b""] * (vocabulary_size - len(spelled))


def _parts(inside: bytes, last: bytes) -> tuple[bytes, bytes]:
    """Return body and rest of a token, from the bytes that it adds in mid-sentence and as the last token."""
    return (last, inside[len(last) :]) if inside.startswith(last) else (inside, b"")


class TokenBytes(NamedTuple):
    """A `Spelling` as arrays for the loop, with an empty entry after the P entries.

    Args:
        bodies: int16 (P + 1, W), filled with `NO_BYTE`.
        rests: int16 (P + 1, R); None where all are empty.
        is_text: Boolean (V,).
    """

    bodies: Tensor
    rests: Tensor | None
    is_text: Tensor

    def follow(self, last: Tensor, token: Tensor) -> tuple[Tensor, Tensor]:
        """Return the bytes that tokens add, int32 (B, R + W), and the entries that are now the last ones, int32 (B,).

        Args:
            last: int32 (B,), the entry of the last token that is text; `NOTHING_YET`.
            token: int32 (B,).
        """
        size, empty = self.is_text.shape[0], self.bodies.shape[0] - 1
        is_text = ops.take(self.is_text, token)  # (B,)
        entry = token + ops.where(last < 0, size, 0) if empty > size else token
        added = _rows(self.bodies, ops.where(is_text, entry, empty))  # (B, W)
        if self.rests is not None:
            rests = _rows(self.rests, ops.where(ops.logical_and(is_text, last >= 0), last, empty))  # (B, R)
            added = _joined(rests, added)  # (B, R + W)
        return added, ops.where(is_text, entry, last)


def token_bytes(spelling: Spelling) -> TokenBytes:
    """Return the arrays of a spelling.

    Example:

    >>> table = token_bytes(Spelling([b"a", b"", b"bc"], [b" ", b"", b""], [True, False, True]))
    >>> tuple(table.bodies.shape), tuple(table.rests.shape)
    ((4, 2), (4, 1))
    """
    bodies, rests = (byte_table([*column, b""]).astype(np.int16) for column in (spelling.bodies, spelling.rests))
    arrays = (bodies, rests if any(spelling.rests) else None, np.array(spelling.is_text))
    return TokenBytes(*(None if array is None else ops.convert_to_tensor(array) for array in arrays))


def _rows(table: Tensor, index: Tensor) -> Tensor:
    """Return rows of a table, as int32."""
    return ops.cast(ops.take(table, index, axis=0), "int32")


def _joined(first: Tensor, second: Tensor) -> Tensor:
    """Concatenate bytes (B, R) and (B, W) to (B, R + W), with `NO_BYTE` at the end."""
    size, places = first.shape[1], ops.arange(first.shape[1] + second.shape[1], dtype="int32")
    count = ops.sum(ops.cast(first != NO_BYTE, "int32"), axis=1, keepdims=True)
    both = ops.pad(ops.concatenate([first, second], axis=1), [(0, 0), (0, size)], constant_values=NO_BYTE)
    return take_at(both, ops.where(places < count, places, places - count + size))
