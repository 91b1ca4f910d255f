"""The interfaces of sources of rows and of objectives, for user-defined ones in `pipeline.batches`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from keras_transformers.data.batches.batching import Batching


class EncodedRows(Protocol):
    """Encoded examples in memory, such as `Rows` and `Translations`.

    One more attribute is optional: `is_unread` is True if rows are read when they are asked for. The objective then
    checks them batch by batch.

    Attributes:
        num_rows: int.
        lengths: Tokens of each row: (rows,), or (rows, 2) of pairs.
    """

    @property
    def num_rows(self) -> int: ...

    @property
    def lengths(self) -> np.ndarray: ...

    def __getitem__(self, indices: Any) -> EncodedRows:
        """Return the rows with these numbers."""
        ...


class Source(Protocol):
    """A source of rows.

    Two more attributes are optional:

    - `lengths`: as in `EncodedRows`, of all rows and the same in every epoch, or `None` if unknown. A source without
      this attribute does not allow `batch_tokens`.
    - `buckets`: a tuple of padded lengths, the default of `batches(buckets=None)`; `()` for rows that fill
      `max_length`. `None`, or no such attribute, for the usual ones.

    Attributes:
        num_rows: int, or `None` if unknown, as for a stream.
    """

    @property
    def num_rows(self) -> int | None: ...

    def sample(self) -> EncodedRows:
        """Return a few rows, which show the shapes of the batches; all rows if they are in memory."""
        ...

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, EncodedRows]]:
        """Yield the rows of an epoch, in windows of rows that are in memory together.

        Args:
            batching: Settings of the batches.
            epoch: int, determines the shuffle.
            skip: int, number of batches to skip. The first window holds batch `skip`, or an earlier batch.

        Yields:
            The number in the epoch of the window's first batch, and its rows.
        """
        ...


class Objective(Protocol):
    """A training objective: makes the inputs and labels of a batch from its rows.

    One more attribute is optional: `is_row_wise` is True if what is made of a row depends on nothing but the row, the
    width and the row's random numbers: those that `rng.random` and `rng.integers` draw for all rows together, in arrays
    whose first axis is the rows. Of several workers, each then makes only its part of a batch.
    """

    def check(self, rows: Any) -> None:
        """Raise a `ValueError` for invalid rows, for instance with a label out of range."""
        ...

    def __call__(self, rows: Any, width: Any, rng: Any) -> tuple:
        """Make an element of the data set.

        Args:
            rows: The rows of one batch, of the kind that the objective is for.
            width: int, the padded length; for pairs, one for each side.
            rng: The generator for masks and other random choices; `data.batches.own_rows.OwnDraws`, which has its
                `random` and `integers`, where `rows` are some of a batch.

        Returns:
            (inputs,), (inputs, labels) or (inputs, labels, sample weights).
        """
        ...
