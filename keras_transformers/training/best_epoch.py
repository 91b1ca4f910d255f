"""The weights of the best epoch, by what validation measured."""

from __future__ import annotations

import math
from typing import Any

import keras

from keras_transformers.utils.tensor_types import Tensor

DIRECTIONS = {"up": 1.0, "down": -1.0}


class BestEpoch(keras.callbacks.Callback):
    """A callback that ends `fit` with the weights of its best epoch; of equally good ones, the last.

    Keras' `EarlyStopping(restore_best_weights=True)` keeps the first. A few validation rows leave many epochs equal,
    and the first is the least trained: with 16 rows of SST-2 held out of 150, the first of the best epochs had an
    accuracy of 0.60 on other rows, the last 0.72. These are the weights that validation measured, not the averages
    of `ema_momentum`.

    Put it before `Resume`, and give it to `Resume(callbacks=...)`; `Task.fit` does both.

    Args:
        monitor: Name in the logs of `fit`, such as `"val_accuracy"`.
        direction: `"up"` if more is better, `"down"` if less is.

    Attributes:
        best: The value of the best epoch; None before the first.
        best_epoch: Number of the best epoch, from 0.

    Raises:
        ValueError: The direction is neither; or from `fit`, the name is not in the logs.

    Example:

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> best, data = BestEpoch("val_loss", "down"), np.ones((4, 1))
    >>> _ = model.fit(data, data, validation_data=(data, data), epochs=2, verbose=0, callbacks=[best])
    >>> best.best_epoch
    1
    """

    def __init__(self, monitor: str, direction: str):
        super().__init__()
        if direction not in DIRECTIONS:
            raise ValueError(f"Received direction={direction!r}; expected one of {[*DIRECTIONS]}.")
        self.monitor, self.sign = monitor, DIRECTIONS[direction]
        self.best: float | None = None
        self.best_epoch: int | None = None
        self.best_weights: list[Tensor] | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.best, self.best_epoch, self.best_weights = None, None, None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if self.monitor not in logs:
            raise ValueError(f"{self.monitor} is not measured in this fit, which has {sorted(logs)}.")
        value = float(logs[self.monitor])
        if not all(math.isfinite(logs.get(name, 0.0)) for name in ("loss", "val_loss")):
            value = math.nan  # it has diverged, whatever it predicts
        if self.best is None or math.isnan(self.best) or self.sign * value >= self.sign * self.best:
            self.best, self.best_epoch, self.best_weights = value, epoch, self.model.get_weights()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self.best_weights:
            self.model.set_weights(self.best_weights)
