"""The weights of the best epoch, by what validation measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import keras


class BestEpoch(keras.callbacks.Callback):
    """Ends `fit` with the weights of its best epoch.

    Keras' `EarlyStopping(restore_best_weights=True)` keeps the first of equally good epochs. A few validation rows
    leave many equal, and the first is the least trained: here the next measure decides between them, and then the later
    epoch counts. The weights are those that validation measured, so not the averages of `ema_momentum`.

    Put it before `Resume`, and give it to `Resume(callbacks=...)`; `Task.fit` does both.

    Args:
        measures: Names in the logs of `fit`, the most important first, such as `{"val_accuracy": "up", "val_loss":
            "down"}`: whether the best value is the highest or the lowest.

    Attributes:
        best: The values of the best epoch, by `measures`, each turned so that more is better.
        best_epoch: Its number from 0; None before the first.

    Raises:
        ValueError: There are no measures, or one is neither up nor down; from `fit`, one is not measured.

    Example:

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> best, data = BestEpoch({"val_loss": "down"}), np.ones((4, 1))
    >>> _ = model.fit(data, data, validation_data=(data, data), epochs=2, verbose=0, callbacks=[best])
    >>> best.best_epoch
    1
    """

    def __init__(self, measures: Mapping[str, str]):
        super().__init__()
        if not measures or any(direction not in ("up", "down") for direction in measures.values()):
            raise ValueError(f"Received measures={measures}; expected names in the logs, each 'up' or 'down'.")
        self.measures = dict(measures)
        self.best, self.best_epoch, self.best_weights = None, None, None

    def on_train_begin(self, logs: dict[str, Any] | None = None):
        self.best, self.best_epoch, self.best_weights = None, None, None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None):
        if missing := [name for name in self.measures if name not in (logs or {})]:
            raise ValueError(f"{missing[0]} is not measured in this fit, which has {sorted(logs or {})}.")
        values = [_more_is_better(logs[name], direction) for name, direction in self.measures.items()]
        if self.best is None or values >= list(self.best):
            self.best, self.best_epoch, self.best_weights = values, epoch, self.model.get_weights()

    def on_train_end(self, logs: dict[str, Any] | None = None):
        if self.best_weights:
            self.model.set_weights(self.best_weights)


def _more_is_better(value: Any, direction: str) -> float:
    """The value or its negative; what is no number, as the mean of no targets, is the worst."""
    value = float(value)
    return -math.inf if math.isnan(value) else value if direction == "up" else -value
