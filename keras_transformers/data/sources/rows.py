"""Rows of different lengths, stored flat, and padded when a batch is made."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from keras_transformers.data.batches.batching import Batching

Self = TypeVar("Self", bound="InMemory")


class InMemory:
    """The base of sources whose rows are all in memory: each epoch is one window, see `protocols.Source`."""

    def sample(self: Self) -> Self:
        return self

    def windows(self: Self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, Self]]:
        yield 0, self


@dataclass(frozen=True)
class Ragged:
    """Integer rows of different lengths in one flat array: row `i` is `flat[starts[i]:][:lengths[i]]`."""

    flat: np.ndarray  # (tokens,) int32
    starts: np.ndarray  # (rows,)
    lengths: np.ndarray  # (rows,)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return cls.joined(np.fromiter(chain.from_iterable(rows), np.int32, lengths.sum()), lengths)

    @classmethod
    def joined(cls, flat: np.ndarray, lengths: np.ndarray) -> Ragged:
        """Return rows that are adjacent in `flat`."""
        return cls(flat, np.cumsum(lengths) - lengths, lengths)

    @classmethod
    def unpadded(cls, padded: np.ndarray, mask: np.ndarray) -> Ragged:
        """Return rows of a (B, T) array with padding on the right, where `mask` is False."""
        return cls.joined(padded[mask], mask.sum(axis=1))

    @classmethod
    def concatenated(cls, parts: Sequence[Ragged]) -> Ragged:
        """Return the rows of all parts, copied into one flat array."""
        return cls.joined(np.concatenate([p.tokens() for p in parts]), np.concatenate([p.lengths for p in parts]))

    def __getitem__(self, indices) -> Ragged:
        return Ragged(self.flat, self.starts[indices], self.lengths[indices])

    def tokens(self) -> np.ndarray:
        """Return the tokens of all rows, one row after the other: (tokens,)."""
        shifts = np.repeat(self.starts - (np.cumsum(self.lengths) - self.lengths), self.lengths)  # (tokens,)
        return self.flat[shifts + np.arange(shifts.size)]

    def split(self, width: int) -> Ragged:
        """Split the rows into pieces of `width` tokens; the last piece of a row may be shorter."""
        counts = -(-self.lengths // width)  # (rows,), pieces of each row
        begins = width * (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts))  # (pieces,)
        lengths = np.minimum(np.repeat(self.lengths, counts) - begins, width)  # (pieces,)
        return Ragged(self.flat, np.repeat(self.starts, counts) + begins, lengths)

    def padded(self, width: int, fill: int) -> np.ndarray:
        """Return the rows as one (B, width) int32 array, cut or padded on the right."""
        if not self.flat.size:
            return np.full((len(self.lengths), width), fill, np.int32)
        columns = np.arange(width)
        indices = np.minimum(self.starts[:, None] + columns, self.flat.size - 1)  # (B, width)
        return np.where(columns < self.lengths[:, None], self.flat[indices], np.int32(fill))


@dataclass(frozen=True)
class Rows(InMemory):
    """A source of encoded examples in memory.

    Use `Rows.of` to make it from lists.

    Args:
        token_ids: `Ragged`, special tokens included.
        segment_ids: `Ragged` of the same lengths, or `None` for a model without segments.
        labels: Array with one entry per row, or `Ragged` of the same lengths (one per token), or `None`.
        documents: `Ragged` of the same lengths, the number of each token's text in its row, from 1; `None` if a row is
            one text.
    """

    token_ids: Ragged
    segment_ids: Ragged | None = None
    labels: Any = None  # (rows, ...) or `Ragged`, as the objective needs
    documents: Ragged | None = None

    @classmethod
    def of(cls, token_ids: Sequence[Sequence[int]], segment_ids=0, labels: Iterable | None = None) -> Rows:
        """Return rows from lists of ids.

        Args:
            token_ids: A list of lists or arrays of ids, with special tokens.
            segment_ids: The same shape; or one number for all tokens; or `None` for a model without segments.
            labels: One entry per row: a class, a list of 0/1 or a float; the objective checks them.

        Returns:
            `Rows`.

        Raises:
            ValueError: There are no rows, or the lengths of the arguments differ.

        Example:

        >>> rows = Rows.of([[2, 7, 3], [2, 3]], labels=[1, 0])
        >>> rows.padded(4, pad_id=0)["token_ids"].tolist()
        [[2, 7, 3, 0], [2, 3, 0, 0]]
        """
        if not len(token_ids):
            raise ValueError("Received an empty data set: expected at least one row of token ids.")
        ids = Ragged.of(token_ids)
        labels = None if labels is None else np.asarray(labels)
        if labels is not None and len(labels) != len(token_ids):
            raise ValueError(f"Received {len(labels)} labels for {len(token_ids)} texts: expected one label per text.")
        return cls(ids, _segments(segment_ids, ids), labels)

    @property
    def num_rows(self) -> int:
        return len(self.lengths)

    @property
    def lengths(self) -> np.ndarray:
        return self.token_ids.lengths

    @property
    def _columns(self) -> tuple:
        return self.token_ids, self.segment_ids, self.labels, self.documents

    def __getitem__(self, indices) -> Rows:
        columns: list[Any] = [column if column is None else column[indices] for column in self._columns]
        return Rows(*columns)

    @classmethod
    def concatenated(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts; labels, if any, must be one per token."""
        columns = zip(*(part._columns for part in parts), strict=True)
        parts_of: list[Any] = [None if column[0] is None else Ragged.concatenated(column) for column in columns]
        return cls(*parts_of)

    def padded(self, width: int, pad_id: int) -> dict[str, np.ndarray]:
        """Return the inputs of a model: `token_ids`, `segment_ids` (if any) and `padding_mask`, all (B, width).

        The mask is 0 for padding, else the number of the token's text from `documents`, or 1.
        """
        inputs = {"token_ids": self.token_ids.padded(width, pad_id)}
        if self.segment_ids is not None:
            inputs["segment_ids"] = self.segment_ids.padded(width, 0)
        if self.documents is not None:
            return {**inputs, "padding_mask": self.documents.padded(width, 0)}
        # Not bool: under a tf.distribute strategy, Keras adds up the replicas' batches to find the shapes.
        mask = np.arange(width) < self.lengths[:, None]  # (B, width)
        return {**inputs, "padding_mask": mask.astype(np.int32)}


def _segments(segment_ids, ids: Ragged) -> Ragged | None:
    if segment_ids is None:
        return None
    if isinstance(segment_ids, int):
        return Ragged(np.full_like(ids.flat, segment_ids), ids.starts, ids.lengths)
    segments = Ragged.of(segment_ids)
    if not np.array_equal(segments.lengths, ids.lengths):
        raise ValueError("segment_ids and token_ids differ in their lengths: expected one segment a token.")
    return segments


def tell_cut(cut: Sequence[bool], max_length: int):
    """Warn if texts were cut, with their number."""
    if count := int(sum(cut)):
        warnings.warn(f"{count} of {len(cut)} texts were cut to max_length={max_length} tokens.", stacklevel=3)
