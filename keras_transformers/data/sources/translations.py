"""Pairs of source and target texts, encoded in memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Sized
from dataclasses import dataclass

import numpy as np

from keras_transformers.data.sources.rows import InMemory, Ragged
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.text_checks import check_texts


@dataclass(frozen=True)
class Translations(InMemory):
    """A source of encoded pairs in memory.

    Args:
        sources: `Ragged` ids for the encoder, special tokens included.
        targets: `Ragged` ids that the decoder learns to generate, as many rows, the end token included.

    Raises:
        ValueError: There are not as many sources as targets.
    """

    sources: Ragged
    targets: Ragged

    def __post_init__(self):
        check_counts(self.sources.lengths, self.targets.lengths)

    @property
    def num_rows(self) -> int:
        return len(self.sources.lengths)

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of source and target, (rows, 2): each side is padded to a separate width."""
        return np.stack([self.sources.lengths, self.targets.lengths], axis=1)

    def __getitem__(self, indices) -> Translations:
        return Translations(self.sources[indices], self.targets[indices])

    @classmethod
    def concatenated(cls, parts: Sequence[Translations]) -> Translations:
        return cls(*(Ragged.concatenated(side) for side in zip(*((p.sources, p.targets) for p in parts), strict=True)))


def encode_translations(
    sources: Sequence[str],
    targets: Sequence[str],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    max_length: int,
) -> Translations:
    """Encode pairs of texts. Pairs with a blank side are left out, and longer texts are cut, with a warning.

    Args:
        sources, targets: Strings, as many of both.
        source_tokenizer, target_tokenizer: `text.Tokenizer` that adds the special tokens of its side, at least the end
            token (see `text.end_token`). The same one for a joint vocabulary.
        max_length: int, maximum tokens of a text, special tokens included. A text that is cut keeps its special tokens.

    Returns:
        `Translations`.

    Raises:
        ValueError: There are not as many sources as targets, or no pair is left.

    Example:

    >>> from keras_transformers.data.batches.pipeline import batches
    >>> from keras_transformers.data.objectives.translation import Translation
    >>> tokenizer = Tokenizer.train(["the cat danced", "die Katze tanzte"], vocabulary_size=60)
    >>> pairs = encode_translations(["the cat"], ["die Katze"], tokenizer, tokenizer, max_length=32)
    >>> objective = Translation(60, start_id=tokenizer.cls_id, end_ids=[tokenizer.sep_id])
    >>> inputs, labels = next(iter(batches(pairs, objective, batch_tokens=4096, max_length=32)))
    >>> inputs["token_ids"].shape == labels.shape
    True
    """
    sources, targets = check_texts("sources", sources), check_texts("targets", targets)
    check_counts(sources, targets)

    blank = np.array([not all(side.strip() for side in pair) for pair in zip(sources, targets, strict=True)], bool)
    kept = np.flatnonzero(~blank)
    sides = zip((sources, targets), (source_tokenizer, target_tokenizer), strict=True)
    encoded = [tokenizer.encode([texts[i] for i in kept], max_length=max_length) for texts, tokenizer in sides]
    warn_of_changes(blank, [np.array([row.truncated for row in side]) for side in encoded], max_length)
    _check_some(kept, sources)
    return Translations(*(Ragged.of([row.ids for row in side]) for side in encoded))


def _check_some(kept: np.ndarray, sources: Sequence[str]):
    if not kept.size:
        which = "all with a blank side" if sources else "which is none"
        raise ValueError(f"Received {len(sources)} pairs, {which}: expected at least one pair of texts.")


def check_counts(sources: Sized, targets: Sized):
    """Raise a `ValueError` if there are not as many sources as targets."""
    if len(sources) != len(targets):
        raise ValueError(
            f"Received {len(sources)} sources and {len(targets)} targets: expected one target per source. Files that "
            "belong together have the same number of lines, counting blank lines."
        )


def warn_of_changes(blank: np.ndarray, cut: Sequence[np.ndarray], max_length: int):
    """Warn if pairs were left out or texts were cut."""
    if blank.any():
        warnings.warn(
            f"{blank.sum()} of {len(blank)} pairs have a blank side and are left out (the first is pair "
            f"{int(np.argmax(blank))}).",
            stacklevel=3,
        )
    if any(side.any() for side in cut):
        warnings.warn(
            f"{cut[0].sum()} of {len(cut[0])} sources and {cut[1].sum()} of {len(cut[1])} targets were cut to "
            f"max_length={max_length} tokens.",
            stacklevel=3,
        )
