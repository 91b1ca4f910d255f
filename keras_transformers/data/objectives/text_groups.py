"""Groups of texts, each text encoded by itself: source and objective of sentence embeddings and multiple choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_transformers.data.sources.rows import InMemory, Rows


@dataclass(frozen=True)
class TextGroups(InMemory):
    """A source of groups of equally many texts.

    Args:
        texts: `Rows` of all texts, the texts of a group one after the other.
        size: int, number of texts of a group, G.
        labels: Array with one entry per group, or `None`.

    Raises:
        ValueError: There are not `size` texts for each label, or no texts.

    Example:

    >>> groups = TextGroups(Rows.of([[2, 3], [2, 7, 3], [2, 8, 3], [2, 9, 3]]), size=2)
    >>> groups.num_rows, groups.lengths.tolist()
    (2, [[2, 3], [3, 3]])
    """

    texts: Rows
    size: int
    labels: np.ndarray | None = None

    def __post_init__(self):
        if self.labels is not None and len(self.labels) != self.num_rows:
            raise ValueError(
                f"Received {len(self.labels)} labels for {self.num_rows} rows of texts: expected one label per row."
            )

    @property
    def num_rows(self) -> int:
        return self.texts.num_rows // self.size

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, (rows, G)."""
        return self.texts.lengths.reshape(-1, self.size)

    def __getitem__(self, indices) -> TextGroups:
        numbers = np.arange(self.texts.num_rows).reshape(-1, self.size)[indices]  # (rows, G)
        return TextGroups(self.texts[numbers.ravel()], self.size, None if self.labels is None else self.labels[indices])


@dataclass(frozen=True)
class Grouped:
    """The objective that converts `TextGroups` to the inputs (B, G, T) of a model of groups, and unchanged labels.

    Args:
        pad_id: int, the id of padding.

    Example:

    >>> groups = TextGroups(Rows.of([[2, 3], [2, 7, 3]]), size=2, labels=np.array([1]))
    >>> inputs, labels = Grouped()(groups, np.array([2, 4]))
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[[2, 3, 0, 0], [2, 7, 3, 0]]], [1])
    """

    pad_id: int = 0

    def check(self, rows: TextGroups) -> None:
        """Accept all rows: labels are checked where they are read."""

    def __call__(self, rows: TextGroups, width: np.ndarray, rng: np.random.Generator | None = None) -> tuple:
        arrays = rows.texts.padded(int(np.max(width)), self.pad_id)
        inputs = {name: array.reshape(-1, rows.size, array.shape[-1]) for name, array in arrays.items()}
        return (inputs,) if rows.labels is None else (inputs, rows.labels)
