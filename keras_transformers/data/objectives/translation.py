"""Pairs of source and target texts, and the objective of an encoder-decoder: teacher forcing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformers.data.sources.rows import InMemory, Ragged, Rows
from keras_transformers.text.tokenizer import Tokenizer, check_texts


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


class Translation:
    """The objective that converts `Translations` to the inputs and labels of an encoder-decoder.

    Teacher forcing: the decoder reads the start token and the target without its last token, not what it predicted.
    Vaswani et al. 2017, https://arxiv.org/abs/1706.03762.

    Args:
        vocabulary_size: int V, the targets'.
        start_id: int, the token that the decoder begins with: `config.decoder_start_id`.
        pad_id: int, the id of padding.
        end_ids: ints, one of which every target must have; empty for no check.
        source_vocabulary_size: int, the sources'; V if `None`.

    Returns:
        `encoder_token_ids` and `encoder_padding_mask` (B, S), `token_ids` and `padding_mask` (B, T), and labels (B, T),
        -1 for no target.

    Raises:
        ValueError: From `check`: an id that is not in the vocabulary, or a target without an end.

    Example:

    >>> rows = Translations(Ragged.of([[5, 6, 7, 1]]), Ragged.of([[8, 9, 1]]))
    >>> inputs, labels = Translation(10, start_id=0)(rows, width=4)
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[0, 8, 9, 0]], [[8, 9, 1, -1]])
    """

    is_row_wise = True

    def __init__(
        self,
        vocabulary_size: int,
        start_id: int,
        pad_id: int = 0,
        end_ids: Sequence[int] = (),
        source_vocabulary_size: int | None = None,
    ):
        self.sizes = source_vocabulary_size or vocabulary_size, vocabulary_size
        self.start_id, self.pad_id, self.end_ids = start_id, pad_id, tuple(end_ids)

    def check(self, rows: Translations):
        for name, side, size in zip(("source", "target"), (rows.sources, rows.targets), self.sizes, strict=True):
            ids = side.tokens()
            if side.lengths.min(initial=1) < 1:
                raise ValueError(f"The {name} in row {int(np.argmin(side.lengths))} is empty: expected an end token.")
            if ids.max(initial=0) >= size or ids.min(initial=0) < 0:
                raise ValueError(
                    f"Received {name} token ids from {ids.min()} to {ids.max()}: expected 0 to {size - 1}, the "
                    f"vocabulary of the {name}s."
                )
        self._check_ends(rows.targets)

    def _check_ends(self, targets: Ragged):
        ends = np.isin(targets.tokens(), self.end_ids)
        ended = np.logical_or.reduceat(ends, np.cumsum(targets.lengths) - targets.lengths) if ends.size else ends
        if self.end_ids and not ended.all():
            raise ValueError(
                f"The target in row {int(np.argmin(ended))} has none of the end tokens {self.end_ids}, so that the "
                "model would not learn to stop: let the tokenizer add one, by `text.end_token.with_end_token`."
            )

    def __call__(self, rows: Translations, width, rng: Any = None) -> tuple[dict, np.ndarray]:
        source_width, target_width = np.broadcast_to(width, 2).tolist()
        source = Rows(rows.sources).padded(source_width, self.pad_id)  # (B, S) each
        labels = rows.targets.padded(target_width, -1)  # (B, T)
        mask = Rows(rows.targets).padded(target_width, self.pad_id)["padding_mask"]  # (B, T)

        shifted = np.roll(labels, 1, axis=1)  # (B, T)
        shifted[:, 0] = self.start_id
        inputs = {f"encoder_{name}": array for name, array in source.items()}
        return inputs | {"token_ids": np.where(mask > 0, shifted, np.int32(self.pad_id)), "padding_mask": mask}, labels
