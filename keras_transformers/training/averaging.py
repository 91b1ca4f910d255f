"""The average of several saved states of one model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np


def newest(folder: str | os.PathLike, count: int, pattern: str = "*.weights.h5") -> list[Path]:
    """Returns the last `count` files by time of writing, oldest first.

    Args:
        folder: Where `keras.callbacks.ModelCheckpoint(save_weights_only=True)` wrote.
        count: How many.
        pattern: Glob of the file names.

    Raises:
        ValueError: If there are fewer.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for epoch in range(3):
    ...     (folder / f"{epoch}.weights.h5").touch()
    >>> [path.name for path in newest(folder, 2)]
    ['1.weights.h5', '2.weights.h5']
    """
    files = sorted(Path(folder).glob(pattern), key=lambda path: (path.stat().st_mtime_ns, path.name))
    if not 0 < count <= len(files):
        raise ValueError(f"Received count={count} for {folder}, which holds {len(files)} files {pattern!r}.")
    return files[-count:]


def average_weights(model: keras.Model, paths: Sequence[str | os.PathLike]) -> None:
    """Sets the model's weights to the mean of saved ones, summed in float64.

    The last 5 checkpoints made the base model, the last 20 the big one of Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762, section 6.1.

    Args:
        model: A built model; unchanged if a file cannot be loaded.
        paths: Files that `model.load_weights` reads.

    Raises:
        ValueError: If `paths` is empty, or a file is not of this model.

    Example:

    >>> import tempfile
    >>> model, folder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]), tempfile.mkdtemp()
    >>> for epoch in range(2):
    ...     model.set_weights([np.full((1, 1), epoch), np.zeros(1)])
    ...     model.save_weights(f"{folder}/{epoch}.weights.h5")
    >>> average_weights(model, newest(folder, 2))
    >>> model.get_weights()[0].tolist()
    [[0.5]]
    """
    if not paths:
        raise ValueError("Received no paths; expected at least one file of weights.")
    weights = model.get_weights()
    sums = [np.zeros(w.shape, "float64") for w in weights]
    try:
        for path in paths:
            model.load_weights(path)
            for total, weight in zip(sums, model.get_weights(), strict=True):
                total += weight
        weights = [(total / len(paths)).astype(w.dtype) for total, w in zip(sums, weights, strict=True)]
    finally:
        model.set_weights(weights)
