"""Batches of one shape, for a TPU under TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_transformers.utils.number_checks import is_size


def is_tpu(strategy: Any) -> bool:
    """Return whether a strategy of `tf.distribute` is one of TPUs."""
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.TPUStrategy)


def batch_shapes(strategy: Any | None, batch_size: int | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a data set, with defaults that give all batches one shape where the strategy needs it.

    A TPU compiles a step for each shape of batches, and each of its cores takes an equal part of a batch. So rows are
    padded to the maximum length, and the last batch is filled with rows that have no target.

    Args:
        strategy: Strategy of the model, or None.
        batch_size: Rows over all replicas; None for batches by the number of tokens.
        settings: Settings of `data.batches.pipeline.batches`, which replace the defaults.

    Raises:
        ValueError: The strategy is one of TPUs, and batches cannot be divided evenly among its cores.

    Example:

    >>> batch_shapes(None, 32, {"seed": 1})
    {'seed': 1}
    """
    if strategy is None or not is_tpu(strategy):
        return dict(settings)
    cores = strategy.num_replicas_in_sync
    if not is_size(batch_size) or batch_size % cores:
        received = "batch_tokens" if batch_size is None else f"batch_size={batch_size!r}"
        raise ValueError(
            f"received {received} for a TPU of {cores} cores, each of which takes an equal part of every batch: "
            f"expected a batch_size that is a multiple of {cores}."
        )
    return {"buckets": (), "pad_remainder": not settings.get("drop_remainder", False), **settings}
