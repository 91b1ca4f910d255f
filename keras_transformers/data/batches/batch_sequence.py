"""Batches for backends other than TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from keras_transformers.data.batches.batching import Batching, Position
from keras_transformers.data.batches.identity import identity
from keras_transformers.data.batches.protocols import Objective, Source
from keras_transformers.data.batches.window import Window
from keras_transformers.utils.device_rows import batch_parts


class BatchSequence(keras.utils.PyDataset):
    """A `keras.utils.PyDataset` of batches that knows where its next pass starts; made by `pipeline.batches`.

    Args:
        source: `Source` of a known number of rows.
        objective: `Objective`.
        batching: `Batching`.
        num_batches: int, batches in a pass over the rows.

    Attributes:
        position: `Position`, where the next pass starts. The last batch of an epoch moves it to the next epoch. An
            unfinished pass, such as Keras' look at the first batch, does not move it.
    """

    def __init__(self, source: Source, objective: Objective, batching: Batching, num_batches: int):
        super().__init__()
        self._settings = source, objective, batching
        self._pass_batches, self._num_batches = num_batches, batching.steps_per_epoch or num_batches
        self._window: tuple[int, Any] = (-1, None)  # a pass and its current `Window`
        self.position = Position()
        self._epoch, self._skip, self._begins = 0, 0, False

    @property
    def num_batches(self) -> int:
        """Batches in a whole epoch.

        At the beginning of a resumed pass, its remaining batches: Keras asks again then, for this pass only. The number
        that it got before is the length of all epochs.
        """
        return self._num_batches - (self.position.batch if self._begins else 0)

    @property
    def num_rows(self) -> int | None:
        """Rows of the source; the last batch may hold further ones: `pad_remainder`."""
        return self._settings[0].num_rows

    def __len__(self) -> int:
        return self.num_batches

    def __getitem__(self, index: int) -> tuple:
        if self._begins:
            self._epoch, self._skip, self._begins = self.position.epoch, self.position.batch, False
        batch = index + self._skip
        if batch + 1 == self._num_batches:
            self.position.epoch, self.position.batch = self._epoch + 1, 0
        number, place = self._settings[-1].place(self._epoch, batch, self._pass_batches)
        window = self._window_of(number, place)
        return _divisible(window[place - window.first])

    def __iter__(self) -> Iterator[tuple]:
        self.on_epoch_begin()
        return super().__iter__()

    def on_epoch_begin(self) -> None:
        """Start a pass at `position`; Keras calls this before each pass."""
        self._begins = True

    def identity(self) -> dict[str, Any]:
        """Return the identity of the data set: see `data.identity`."""
        return identity(*self._settings)

    def _window_of(self, number: int, batch: int) -> Window:
        """Return the window that holds a batch of a pass."""
        source, objective, batching = self._settings
        epoch = number if batching.shuffle else 0
        made, window = self._window
        if made != epoch or not 0 <= batch - window.first < len(window):
            for first, rows in source.windows(batching, epoch, batch):
                window = Window(rows, objective, batching, epoch, first)
                if batch - first < len(window):
                    break
            self._window = epoch, window
        return window


def _divisible(batch: tuple) -> tuple:
    """Return the batch if its rows can be spread evenly over the devices of `keras.distribution`, as JAX needs.

    Raises:
        ValueError: The number of rows is not divisible.
    """
    parts = batch_parts()
    uneven = [len(array) for array in keras.tree.flatten(batch) if len(array) % parts]
    if uneven:
        raise ValueError(
            f"received a batch of {uneven[0]} rows for a keras.distribution that splits batches into {parts} parts: "
            f"expected a multiple of {parts}. Choose such a batch_size; a smaller last batch is filled with "
            "pad_remainder=True (of task.fit: dataset_options={'pad_remainder': True})."
        )
    return batch
