"""The masked-language-model objective: a new mask every epoch."""

from __future__ import annotations

import numpy as np

from keras_transformers.data.rows import Rows


class MaskedLM:
    """Hides part of the tokens, for the model to guess.

    Of the tokens chosen, 80 % become the mask token, 10 % a random token and 10 % stay, as in BERT
    (https://arxiv.org/abs/1810.04805, A.1). Special tokens are neither chosen nor put in as random tokens.

    Args:
        tokenizer: gives `vocabulary_size`, `mask_id`, `pad_id`, `special_ids` and, for whole words,
            `is_continuation`, a boolean array (V,).
        rate: float, part of a row's ordinary tokens to choose; at least one is chosen.
        whole_word: bool, choose words, all pieces together. Words that do not fit in the number are passed over.

    Call Args:
        rows: `Rows`; labels are ignored.
        width: int T, the length to pad to.
        rng: `np.random.Generator`.

    Returns:
        A dict with `mask_positions` (B, M) besides the model's inputs, and labels (B, M), -1 where unused;
        M = rate * T, the same for all batches of one width.

    Raises:
        ValueError: the rate is not between 0 and 1; and from `check`: an id is not in the vocabulary.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> rows = Rows.of([row.ids for row in tokenizer.encode(["the cat sat", "the cat danced"])])
    >>> inputs, labels = MaskedLM(tokenizer, whole_word=True)(rows, 16, np.random.default_rng(0))
    >>> inputs["mask_positions"].shape, labels.shape
    ((2, 2), (2, 2))
    """

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

    def __call__(self, rows: Rows, width: int, rng: np.random.Generator) -> tuple[dict, np.ndarray]:
        inputs = rows.padded(width, self.pad_id)
        ids = inputs["token_ids"]
        candidates = self.ordinary[ids] & (inputs["padding_mask"] > 0)
        chosen = choose_words(candidates, self.continuation[ids], self._limit(candidates.sum(axis=1)), rng)
        originals = ids[chosen]
        positions, labels = gathered(chosen, originals, int(self._limit(width)))
        ids[chosen] = self._replace(originals, rng)
        return {**inputs, "mask_positions": positions}, labels

    def _limit(self, tokens):
        return np.maximum(1, np.rint(self.rate * tokens)).astype(np.int64)

    def _replace(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        fate = rng.random(ids.shape)
        randoms = self.ordinary_ids[rng.integers(len(self.ordinary_ids), size=ids.shape)]
        return np.where(fate < 0.8, self.mask_id, np.where(fate < 0.9, randoms, ids))


def choose_words(candidates: np.ndarray, continuation: np.ndarray, limit: np.ndarray, rng) -> np.ndarray:
    """Words in random order, as long as they fit: (B, T) True for the tokens chosen.

    Args:
        candidates: (B, T) bool, tokens that may be chosen.
        continuation: (B, T) bool, tokens that belong to the word of the token before them.
        limit: (B,) int, most tokens of a row.
        rng: `np.random.Generator`.
    """
    batch, width = candidates.shape
    rows = np.arange(batch)
    # A continuation without a word before it, as at the start of a cut text, is a word of its own.
    starts = candidates & ~(continuation & np.roll(candidates, 1, axis=1))
    words = np.maximum(np.cumsum(starts, axis=1) - 1, 0)
    cells = (words + rows[:, None] * width)[candidates]
    sizes = np.bincount(cells, minlength=batch * width).reshape(batch, width)
    order = np.argsort(np.where(sizes > 0, rng.random(sizes.shape), 2.0), axis=1)
    taken, room = np.zeros_like(candidates), limit.copy()
    for word in order.T[: starts.sum(axis=1).max()]:
        size = sizes[rows, word]
        fits = (size > 0) & (size <= room)
        taken[rows, word] = fits
        room -= size * fits
        if not room.any():
            break
    return taken[rows[:, None], words] & candidates


def gathered(chosen: np.ndarray, values: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """The positions of `chosen` (B, T) and the `values` there, both (B, slots): 0 and -1 where unused."""
    rows, columns = np.nonzero(chosen)
    counts = chosen.sum(axis=1)
    slot = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions = np.zeros((len(chosen), slots), np.int32)
    labels = np.full_like(positions, -1)
    positions[rows, slot], labels[rows, slot] = columns, values
    return positions, labels
