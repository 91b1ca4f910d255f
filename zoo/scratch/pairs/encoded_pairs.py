"""Pairs of texts as tokens, without those that are too long or of very unlike lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_transformers.data.sources.rows import Ragged
from keras_transformers.data.sources.translations import Translations
from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.pairs.pair_files import Pairs

# As Moses' clean-corpus-n, which most translators' corpora have passed: https://www.statmt.org/moses.
RATIO = 9  # most tokens of the longer side for each of the shorter one
CHUNK = 20_000  # texts at a time: what the library returns for a text is large


class EncodedPairs(NamedTuple):
    """Pairs as tokens.

    Args:
        rows: Token ids of the pairs.
        texts: The same pairs as texts.
        too_long, unequal: Numbers of pairs that were left out.
        unknown: Share of unknown tokens.
    """

    rows: Translations
    texts: Pairs
    too_long: int
    unequal: int
    unknown: float

    @property
    def tokens(self) -> tuple[int, int]:
        """Return the tokens of the sources, and the tokens of the targets."""
        return int(self.rows.sources.lengths.sum()), int(self.rows.targets.lengths.sum())


def ending(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer that ends texts with its end token; itself if it does already."""
    has_end = tokenizer.encode([""])[0].ids[-1:] == [tokenizer.eos_id]
    return tokenizer if has_end else with_end_token(tokenizer, tokenizer.eos_id)


def encode_pairs(pairs: Pairs, tokenizer: Tokenizer, max_length: int) -> EncodedPairs:
    """Tokenize pairs; leave out those that are too long or of very unlike lengths.

    Args:
        pairs: Texts.
        tokenizer: Tokenizer of both sides; it adds end tokens.
        max_length: Tokens of a text, at most, the end token included.

    Raises:
        ValueError: No pair is left.

    Example:

    >>> tokenizer = ending(Tokenizer.train(["the cat", "die Katze"], 30, model="unigram"))
    >>> encoded = encode_pairs(Pairs(["the cat"], ["die Katze"]), tokenizer, max_length=32)
    >>> encoded.rows.num_rows, encoded.unknown
    (1, 0.0)
    """
    sides = [_encode(tokenizer, texts) for texts in pairs[:2]]
    lengths = by_length(sides[0].lengths, sides[1].lengths, max_length)
    kept = np.flatnonzero(lengths.kept)
    if not kept.size:
        raise ValueError(
            f"none of {len(pairs.sources)} pairs is left: {lengths.too_long} have more than {max_length} tokens on a "
            f"side, {lengths.unequal} have sides of very different lengths, such as {pairs.place(0, 0)}. Give a larger "
            "--max-length, or check whether the lines belong together."
        )
    rows = Translations(*(side[kept] for side in sides))
    return EncodedPairs(rows, pairs.chosen(kept.tolist()), lengths.too_long, lengths.unequal, _unknown(tokenizer, rows))


class Lengths(NamedTuple):
    """The choice of pairs by their lengths in tokens: a mask (pairs,), and the numbers of those left out."""

    kept: np.ndarray
    too_long: int
    unequal: int


def by_length(sources: Sequence[int] | np.ndarray, targets: Sequence[int] | np.ndarray, max_length: int) -> Lengths:
    """Choose the pairs that are not too long, and of whose sides none is more than nine times as long as the other.

    Args:
        sources, targets: Tokens of each text, with the one that ends it.
        max_length: Tokens, at most.

    Example:

    >>> by_length([3, 3, 300], [4, 40, 9], max_length=128)
    Lengths(kept=array([ True, False, False]), too_long=1, unequal=1)
    """
    lengths = np.stack([np.asarray(sources), np.asarray(targets)])
    longer, shorter = lengths.max(axis=0), lengths.min(axis=0)
    is_long = longer > max_length
    is_unequal = ~is_long & (longer - 1 > RATIO * np.maximum(shorter - 1, 1))
    return Lengths(~is_long & ~is_unequal, int(is_long.sum()), int(is_unequal.sum()))


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> Ragged:
    parts = [
        Ragged.of([row.ids for row in tokenizer.encode(texts[first : first + CHUNK])])
        for first in range(0, len(texts), CHUNK)
    ]
    return Ragged.concatenated(parts)


def _unknown(tokenizer: Tokenizer, rows: Translations) -> float:
    try:
        unknown = tokenizer.unk_id
    except ValueError:  # bytes know every text
        return 0.0
    tokens = [side.tokens() for side in (rows.sources, rows.targets)]
    return float(sum((ids == unknown).sum() for ids in tokens) / sum(ids.size for ids in tokens))
