"""What `pipeline.batches` asks of a source of rows and of an objective: the seams at which your own ones fit in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from keras_transformers.data.batching import Batching


class EncodedRows(Protocol):
    """Encoded examples that are in memory together, such as `Rows` and `Translations`.

    Attributes:
        num_rows: int.
        lengths: (rows,) or, of pairs, (rows, 2): tokens of each row.
    """

    @property
    def num_rows(self) -> int: ...

    @property
    def lengths(self) -> np.ndarray: ...

    def __getitem__(self, indices: Any) -> EncodedRows:
        """The rows of these numbers."""
        ...


class Source(Protocol):
    """Where rows come from.

    Two more attributes are optional, and not looked for in instances of sources that go without:

    - `lengths`: as of `EncodedRows`, of all rows and the same in every epoch, or `None` if unknown. A source without it
      takes no `batch_tokens`.
    - `buckets`: a tuple of the padded lengths that suit it, for `batches(buckets=None)`; `()` for rows that fill
      `max_length`. `None`, or no such attribute, for the usual ones.

    Attributes:
        num_rows: int, or `None` if unknown, as of a stream.
    """

    @property
    def num_rows(self) -> int | None: ...

    def sample(self) -> EncodedRows:
        """A few rows, to find the shapes of the batches from; all of them if they are in memory."""
        ...

    def windows(self, batching: Batching, epoch: int, skip: int) -> Iterator[tuple[int, EncodedRows]]:
        """The rows of an epoch, in windows of rows that are in memory together.

        Args:
            batching: the settings of the batches.
            epoch: int, which shuffle.
            skip: int, batches that are not needed; the first window is at the latest the one that holds batch `skip`.

        Yields:
            The number in the epoch of the window's first batch, and its rows.
        """
        ...


class Objective(Protocol):
    """What is to be learned from rows."""

    def check(self, rows: Any) -> None:
        """Raises a `ValueError` for rows that it cannot use, for instance with a label out of range."""
        ...

    def __call__(self, rows: Any, width: Any, rng: np.random.Generator) -> tuple:
        """Makes an element of the data set.

        Args:
            rows: the rows of one batch, of the kind that the objective is for.
            width: int, the padded length; of pairs, one of each side.
            rng: for what is random, such as masks.

        Returns:
            (inputs,), (inputs, labels) or (inputs, labels, sample weights).
        """
        ...
