"""Text in and out of generation without TensorFlow: readers and the writer, by the Python tokenizer.

Lengths are rounded up to buckets, so that few programs are compiled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.batches.batching import bucket
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.generation import prompts
from keras_transformers.generation.prompts import Prompts
from keras_transformers.generation.spelling import NOTHING_YET, Spelling
from keras_transformers.generation.state import Written
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.tokenizer import Tokenizer


class PromptReader:
    """A reader of prompts of a causal language model; too long ones lose their beginning, to fit the new tokens in.

    Args:
        config: Configuration of the model.
        tokenizer: Text to ids.
        max_length: Tokens of prompt and text together, at most.
    """

    has_special_tokens = True

    def __init__(self, config: TransformerConfig, tokenizer: Tokenizer, max_length: int):
        self.config, self.tokenizer, self.max_length = config, tokenizer, max_length
        self.longest = max_length
        self.begin_id = prompts.begin_id(config)

    def __call__(self, texts: Sequence[str], max_new_tokens: np.ndarray) -> Prompts:
        """Return the prompts of B texts, given `max_new_tokens` int32 (B,)."""
        encoded = self.tokenizer.encode(texts, special_tokens=self.has_special_tokens)
        rows = [self._read(*row) for row in zip(encoded, max_new_tokens.tolist(), strict=True)]
        token_ids, truncated, error = zip(*rows, strict=True)
        ids = Ragged.of(token_ids)
        width = bucket(ids.lengths.max(), self.max_length)
        return Prompts(
            ids.padded(width, self.config.fill_id),
            ids.lengths.astype(np.int32),
            {},
            np.array(truncated),
            np.array(error, object),
        )

    def behind(self, prefix: np.ndarray, texts: Sequence[str], max_new_tokens: np.ndarray) -> Prompts:
        """Return the prompts of B texts behind a prefix, int32 (F,): see `graph_text.PromptReader.behind`."""
        size = len(prefix)
        room = self.max_length - max_new_tokens - size  # (B,)
        encoded = [row.ids for row in self.tokenizer.encode(texts, special_tokens=False)]
        is_cut = np.array([len(ids) for ids in encoded]) > np.maximum(room, 1)
        error = np.where(room < 1, prompts.NO_ROOM.format(max_length=self.max_length), "")
        if not self.has_special_tokens:
            error = np.where(is_cut & (error == ""), prompts.TOO_LONG.format(max_length=self.max_length), error)
        rows = zip(encoded, np.maximum(room, 1).tolist(), strict=True)
        ids = Ragged.of([[int(prefix[-1]), *row[-most:]] for row, most in rows])
        width = bucket(ids.lengths.max(), self.max_length - size + 1)
        lengths = (ids.lengths + size - 1).astype(np.int32)
        return Prompts(
            ids.padded(width, self.config.fill_id),
            lengths,
            {},
            is_cut & self.has_special_tokens,
            error.astype(object),
        )

    def _read(self, encoded: Encoded, max_new_tokens: int) -> tuple[list[int], bool, str]:
        """Return the ids of a prompt, whether it was cut, and its error."""
        ids, is_special = np.array(encoded.ids, np.int32), np.array(encoded.special_mask, bool)
        room, length = self.max_length - max_new_tokens - is_special.sum(), (~is_special).sum()
        is_cut = np.cumsum(~is_special) <= length - max(room, 1)
        ids = ids[is_special | ~is_cut].tolist()
        error = prompts.NO_ROOM.format(max_length=self.max_length) if room < 1 else ""
        if not ids and self.begin_id is None:
            error = error or prompts.EMPTY
        return ids or [self.begin_id or 0], bool(length > max(room, 1)), error


class ChatReader(PromptReader):
    """A reader of conversations, which a chat template has written as text: no tokens are added, none may be cut off.

    Args:
        config, tokenizer, max_length: As for `PromptReader`.
    """

    has_special_tokens = False

    def _read(self, encoded: Encoded, max_new_tokens: int) -> tuple[list[int], bool, str]:
        """Return the ids of a prompt, that it was not cut, and its error."""
        room = self.max_length - max_new_tokens
        error = "" if encoded.ids else prompts.EMPTY
        if len(encoded.ids) > room or room < 1:
            error = prompts.TOO_LONG.format(max_length=self.max_length)
        return (encoded.ids or [0])[-max(room, 1) :], False, error


class SourceReader:
    """A reader of texts for the encoder, with the decoder's start token; too long texts are cut by the tokenizer.

    Args:
        config: Configuration of the model.
        tokenizer: Tokenizer of the texts that the model reads.
        max_length: Tokens of a text, at most; on either side, where the model has a bound.
    """

    def __init__(self, config: TransformerConfig, tokenizer: Tokenizer, max_length: int):
        self.tokenizer, self.max_length, self.pad_id = tokenizer, max_length, config.fill_id
        self.start_id, self.longest = prompts.decoder_start_id(config), prompts.longest_text(config, max_length)

    def __call__(self, texts: Sequence[str], max_new_tokens: np.ndarray) -> Prompts:
        """Return the prompts of B texts, given `max_new_tokens` int32 (B,)."""
        encoded = self.tokenizer.encode(texts, max_length=self.max_length)
        rows = Rows(Ragged.of([row.ids for row in encoded]))
        padded = rows.padded(bucket(rows.lengths.max(), self.max_length), self.pad_id)
        source = {f"encoder_{name}": padded[name] for name in ("token_ids", "padding_mask")}

        is_blank = [not text.strip() or all(row.special_mask) for text, row in zip(texts, encoded, strict=True)]
        too_many = np.where(max_new_tokens >= self.longest, prompts.TOO_MANY.format(max_length=self.longest), "")
        error = np.where(is_blank, prompts.NOTHING, too_many).astype(object)

        token_ids = np.full((len(texts), 1), self.start_id, np.int32)
        truncated = np.array([row.truncated for row in encoded])
        return Prompts(token_ids, np.ones(len(texts), np.int32), source, truncated, error)


class Writer:
    """A writer from tokens to texts.

    Args:
        spelling: Text that each token adds.
        begins: Whether generated texts are complete (encoder-decoder); if not, they continue prompts.
    """

    def __init__(self, spelling: Spelling, begins: bool):
        self.spelling, self.begins = spelling, begins

    def __call__(self, written: Written) -> list[bytes]:
        """Return the bytes of each text, before its stop string."""
        columns = (written.token_ids, written.lengths, written.num_new, written.kept_bytes)
        contents = []
        for ids, length, num_new, kept in zip(*(np.asarray(column).tolist() for column in columns), strict=True):
            before = NOTHING_YET if self.begins else ids[length - num_new - 1]
            contents.append(self.spelling.text(ids[length - num_new : length], before)[:kept])
        return contents
