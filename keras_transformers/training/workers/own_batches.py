"""Batches of which each of several workers makes only its rows."""

from __future__ import annotations

from typing import Any

from keras_transformers.data.batches.own_rows import Share


def make_own_rows(strategy: Any) -> None:
    """Let each worker of a strategy make only its rows of the batches of `data.pipeline.batches`.

    TensorFlow's own way is that every worker makes all batches and throws away the rows of the others. The rows here
    are the same as in one worker's batches, padded as there, divided among the replicas as evenly as can be. Data sets
    that cannot be made apart (`Batches.own` is None) or are no `Batches` are distributed as TensorFlow does it.

    Args:
        strategy: Distribution strategy with several workers. Its `experimental_distribute_dataset`, which Keras calls
            in `fit` and `evaluate`, is replaced, once.
    """
    if "experimental_distribute_dataset" in vars(strategy):
        return
    distribute = strategy.experimental_distribute_dataset

    def distribute_dataset(dataset: Any, options: Any = None) -> Any:
        if getattr(dataset, "own", None) is None:
            return distribute(dataset, options)
        return strategy.distribute_datasets_from_function(lambda context: dataset.own(shares_of(context)), options)

    strategy.experimental_distribute_dataset = distribute_dataset


def shares_of(context: Any) -> list[Share]:
    """Return the shares of a batch that the replicas of a worker take.

    Args:
        context: `tf.distribute.InputContext` of the worker.

    Example:

    >>> import tensorflow as tf
    >>> shares_of(tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=4))
    [Share(index=2, count=4), Share(index=3, count=4)]
    """
    replicas, workers = context.num_replicas_in_sync, context.num_input_pipelines
    first, end = (number * replicas // workers for number in (context.input_pipeline_id, context.input_pipeline_id + 1))
    return [Share(index, replicas) for index in range(first, end)]
