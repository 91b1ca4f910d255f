"""Averages of the weights of several checkpoints of one model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformers.training.workers.distribute import is_chief, sum_over_replicas
from keras_transformers.utils.keras_private import strategy_of


def average_weights(model: keras.Model, paths: Sequence[str | os.PathLike]) -> None:
    """Set the model's weights to the mean of saved ones, summed in float64.

    Vaswani et al. 2017 averaged the last 5 checkpoints of the base model and the last 20 of the big one:
    https://arxiv.org/abs/1706.03762, section 6.1.

    Args:
        model: A built model; unchanged if a file cannot be loaded. Its optimizer does not change.
        paths: Files that `model.load_weights` reads.

    Raises:
        ValueError: If `paths` is empty, or a file is not of this model.

    Example:

    >>> import tempfile
    >>> model, folder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]), tempfile.mkdtemp()
    >>> for epoch in range(2):
    ...     model.set_weights([np.full((1, 1), epoch), np.zeros(1)])
    ...     model.save_weights(f"{folder}/{epoch}.weights.h5")
    >>> average_weights(model, sorted(Path(folder).glob("*.weights.h5"))[-2:])
    >>> model.get_weights()[0].tolist()
    [[0.5]]
    """
    if not paths:
        raise ValueError("Received no paths; expected at least one file of weights.")
    weights = model.get_weights()
    state = model.optimizer.variables if getattr(model, "optimizer", None) else []  # `load_weights` sets them too
    saved_state = [keras.ops.convert_to_numpy(variable) for variable in state]
    sums = [np.zeros(w.shape, "float64") for w in weights]

    try:
        for path in paths:
            model.load_weights(path)
            for total, weight in zip(sums, model.get_weights(), strict=True):
                total += weight
        weights = [(total / len(paths)).astype(w.dtype) for total, w in zip(sums, weights, strict=True)]
    finally:
        model.set_weights(weights)
        for variable, value in zip(state, saved_state, strict=True):
            variable.assign(value)


class AverageEpochs(keras.callbacks.Callback):
    """A callback that ends `fit` with the mean of the weights at the ends of the last epochs.

    It does what fairseq's `average_checkpoints --num-epoch-checkpoints` does. For a moving average over all updates,
    see `ema_momentum` of the optimizer. Put this callback after `Resume`, which then saves the trained weights rather
    than their mean. A resumed run uses the files of the epochs before the interruption.

    Args:
        folder: Folder for `epoch-00000.weights.h5` and so on; the last `count` files are kept. Use one folder for each
            run: files of the same or later epochs, from another run, are replaced.
            Of several workers, the chief writes them.
        count: Epochs to average; fewer if training stops early.

    Raises:
        ValueError: `count` is not positive; or from `fit`, it has fewer epochs.

    Example:

    >>> import tempfile
    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> average = AverageEpochs(tempfile.mkdtemp(), count=2)
    >>> history = model.fit(np.ones((4, 1)), np.ones((4, 1)), epochs=3, verbose=0, callbacks=[average])
    >>> [path.name for path in average.files()]
    ['epoch-00001.weights.h5', 'epoch-00002.weights.h5']
    """

    def __init__(self, folder: str | os.PathLike, count: int):
        super().__init__()
        if count < 1:
            raise ValueError(f"Received count={count}; expected a number of epochs, at least 1.")
        self.folder, self.count = Path(folder), count

    def files(self) -> list[Path]:
        """Return the epochs' files, oldest first."""
        return sorted(self.folder.glob("epoch-*.weights.h5"))

    def set_params(self, params: dict[str, Any]) -> None:
        super().set_params(params)
        epochs = params.get("epochs", self.count)  # `evaluate` has none
        if epochs < self.count:  # not in `on_train_begin`, where `Resume` may set the first epoch
            raise ValueError(f"Received count={self.count} in a fit of {epochs} epochs: expected at most {epochs}.")

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if not is_chief(strategy_of(self.model)):
            return
        path = self.folder / f"epoch-{epoch:05d}.weights.h5"
        for later in [file for file in self.files() if file > path]:
            later.unlink()

        partial = self.folder / "partial.weights.h5"
        self.model.save_weights(partial)
        os.replace(partial, path)
        for old in self.files()[: -self.count]:
            old.unlink()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        sum_over_replicas(strategy_of(self.model), 0)  # wait for the chief's last file
        if paths := self.files():
            average_weights(self.model, paths)
