"""The objective of an encoder-decoder on pairs of texts: teacher forcing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.data.sources.translations import Translations


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
