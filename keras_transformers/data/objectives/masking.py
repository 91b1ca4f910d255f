"""The masked-language-model objective, with new masks every epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_transformers.data.batches.own_rows import RowDraws
from keras_transformers.data.sources.rows import Rows


class MaskedLM:
    """The objective that masks some of the tokens, which the model learns to predict.

    Of the chosen tokens, 80 % become the mask token, 10 % a random token and 10 % stay, as in BERT
    (https://arxiv.org/abs/1810.04805, A.1). Special tokens are never chosen, and never used as random tokens.

    Args:
        tokenizer: Has `vocabulary_size`, `mask_id`, `pad_id`, `special_ids` and, for whole words,
            `is_continuation`, a boolean array (V,).
        rate: float, fraction of a row's tokens, without special ones, to choose; at least one is chosen.
        whole_word: bool, whether to choose all pieces of a word together. Words that would exceed the number are
            skipped.

    Call Args:
        rows: `Rows`; labels are ignored.
        width: int T, the length to pad to.
        rng: `np.random.Generator`.

    Returns:
        The model's inputs, with `mask_positions` (B, M), and labels (B, M), -1 where unused; M = rate * T, the same
        for all batches of one width.

    Raises:
        ValueError: The rate is not between 0 and 1; and from `check`: an id is not in the vocabulary.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> rows = Rows.of([row.ids for row in tokenizer.encode(["the cat sat", "the cat danced"])])
    >>> inputs, labels = MaskedLM(tokenizer, whole_word=True)(rows, 16, np.random.default_rng(0))
    >>> inputs["mask_positions"].shape, labels.shape
    ((2, 2), (2, 2))
    """

    is_row_wise = True

    def __init__(self, tokenizer, rate: float = 0.15, whole_word: bool = False):
        if not 0 < rate < 1:
            raise ValueError(f"Received rate={rate}: expected a number between 0 and 1.")
        self.rate, self.mask_id, self.pad_id = rate, tokenizer.mask_id, tokenizer.pad_id
        self.ordinary = np.ones(tokenizer.vocabulary_size, bool)
        self.ordinary[list(tokenizer.special_ids)] = False
        self.ordinary_ids = np.flatnonzero(self.ordinary).astype(np.int32)
        self.continuation = np.zeros_like(self.ordinary)
        if whole_word:
            self.continuation |= tokenizer.is_continuation

    def check(self, rows: Rows):
        largest, smallest = rows.token_ids.flat.max(initial=0), rows.token_ids.flat.min(initial=0)
        if smallest < 0 or largest >= len(self.ordinary):
            raise ValueError(
                f"Received token ids from {smallest} to {largest}: expected 0 to {len(self.ordinary) - 1}, "
                "the tokenizer's vocabulary."
            )

    def __call__(self, rows: Rows, width: int, rng: RowDraws) -> tuple[dict, Any]:
        inputs, _, chosen = self.choose(rows, width, rng)
        ids = inputs["token_ids"]
        positions, labels = gathered(chosen, ids[chosen], int(self._limit(width)))
        masked = np.where(chosen, self._replaced(ids, rng), ids)  # (B, T)
        return {**inputs, "token_ids": masked, "mask_positions": positions}, labels

    def choose(self, rows: Rows, width: int, rng: RowDraws) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """Return the model's inputs (B, T), which tokens may be chosen, and which ones are, (B, T) bool each."""
        inputs = rows.padded(width, self.pad_id)
        ids = inputs["token_ids"]  # (B, T)
        candidates = self.ordinary[ids] & (inputs["padding_mask"] > 0)  # (B, T)
        limit = self._limit(candidates.sum(axis=1))  # (B,)
        return inputs, candidates, choose_words(candidates, self.continuation[ids], limit, rng)

    def _limit(self, tokens):
        return np.maximum(1, np.rint(self.rate * tokens)).astype(np.int64)

    def _replaced(self, ids: np.ndarray, rng: RowDraws) -> np.ndarray:
        """Return what `ids` (B, T) become if they are chosen."""
        draws = rng.random(ids.shape)  # (B, T)
        return np.where(draws < 0.8, self.mask_id, np.where(draws < 0.9, self.random_ids(ids.shape, rng), ids))

    def random_ids(self, shape: tuple[int, ...], rng: RowDraws) -> np.ndarray:
        """Draw ids of tokens that are not special."""
        return self.ordinary_ids[rng.integers(len(self.ordinary_ids), size=shape)]


def choose_words(candidates: np.ndarray, continuation: np.ndarray, limit: np.ndarray, rng: RowDraws) -> np.ndarray:
    """Choose words in random order, as long as they fit; return (B, T) bool, True for the chosen tokens.

    Args:
        candidates: (B, T) bool, tokens that may be chosen.
        continuation: (B, T) bool, tokens that belong to the word of the token before them.
        limit: (B,) int, the maximum number of tokens to choose in each row.
        rng: `np.random.Generator`.
    """
    batch, width = candidates.shape
    rows = np.arange(batch)

    # A continuation without a word before it, as at the start of a cut text, is a separate word.
    starts = candidates & ~(continuation & np.roll(candidates, 1, axis=1))  # (B, T)
    words = np.maximum(np.cumsum(starts, axis=1) - 1, 0)  # (B, T), the number of each token's word
    flat_words = (words + rows[:, None] * width)[candidates]  # (candidates,)
    sizes = np.bincount(flat_words, minlength=batch * width).reshape(batch, width)  # (B, T), tokens of each word
    order = np.argsort(np.where(sizes > 0, rng.random(sizes.shape), 2.0), axis=1)  # (B, T), random, words first

    chosen_words, room = np.zeros_like(candidates), limit.copy()  # (B, T), (B,)
    for word in order.T[: starts.sum(axis=1).max()]:
        size = sizes[rows, word]  # (B,)
        fits = (size > 0) & (size <= room)
        chosen_words[rows, word] = fits
        room -= size * fits
        if not room.any():
            break
    return chosen_words[rows[:, None], words] & candidates  # (B, T)


def gathered(chosen: np.ndarray, values: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions where `chosen` (B, T) is True, and their `values`: both (B, slots), 0 and -1 if unused."""
    rows, columns = np.nonzero(chosen)
    counts = chosen.sum(axis=1)  # (B,)
    slot = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)  # the index of each in its row
    positions = np.zeros((len(chosen), slots), np.int32)
    labels = np.full_like(positions, -1)
    positions[rows, slot], labels[rows, slot] = columns, values
    return positions, labels
