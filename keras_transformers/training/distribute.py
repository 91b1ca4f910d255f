"""Helpers for `tf.distribute`. Without TensorFlow, or outside of a strategy, there is one replica."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import keras

from keras_transformers.keras_private import (
    build_for_batch,
    replace_first_look,
    strategy_of,
    supports_no_merge_call,
)


def num_replicas() -> int:
    """Returns the number of replicas that train in sync; 1 outside of a `tf.distribute` strategy.

    Example:

    >>> num_replicas()
    1
    """
    return _tensorflow().distribute.get_strategy().num_replicas_in_sync if on_tensorflow() else 1


def all_reduce_sum(value: Any) -> Any:
    """Sums over the replicas.

    Args:
        value: A tensor or a list of tensors, without None or `tf.IndexedSlices`: see `dense`.

    Returns:
        The same structure, equal on all replicas; `value` itself where there is one replica.

    Example:

    >>> all_reduce_sum(3.0)
    3.0
    """
    if num_replicas() == 1:
        return value
    distribute = _tensorflow().distribute
    context = distribute.get_replica_context()  # None while a model is built in `strategy.scope()`
    return context.all_reduce(distribute.ReduceOp.SUM, value) if context else value


def dense(gradient: Any) -> Any:
    """Converts `tf.IndexedSlices`, the gradient of an embedding on TensorFlow, to a dense tensor.

    Slices may hold several rows for one index. Their norm is wrong until these rows are added.

    Example:

    >>> dense(None) is None
    True
    """
    if gradient is None or not on_tensorflow():
        return gradient
    return _tensorflow().convert_to_tensor(gradient)


def scope(strategy: Any | None) -> contextlib.AbstractContextManager:
    """Returns `strategy.scope()`, or an empty scope for None, to build and compile a model in.

    Args:
        strategy: A `tf.distribute.Strategy` or None.

    Example:

    >>> with scope(None):
    ...     model = keras.Sequential([keras.layers.Dense(1)])
    """
    if strategy is not None and not hasattr(strategy, "scope"):
        raise ValueError(f"strategy must be a tf.distribute.Strategy, or None: received {strategy!r}.")
    return contextlib.nullcontext() if strategy is None else strategy.scope()


def build(model: keras.Model, dataset: Any) -> None:
    """Creates the variables of a compiled model's loss, metrics and optimizer, as Keras does at the first step.

    Args:
        model: A compiled model.
        dataset: A `tf.data.Dataset`, of which only the `element_spec` is read; or another iterable of batches, of which
            the first batch is read.
    """
    batch = getattr(dataset, "element_spec", None)
    if batch is None:
        batch = next(iter(dataset))
    batch = keras.tree.map_structure(
        lambda x: keras.KerasTensor(tuple(x.shape), keras.backend.standardize_dtype(x.dtype)), batch
    )
    with scope(getattr(model, "distribute_strategy", None)):
        build_for_batch(model, batch)


def take_uneven_batches(model: keras.Model) -> None:
    """Lets `fit` and `evaluate` start with a batch that does not divide evenly among the replicas.

    To find the shapes of a batch, Keras adds up the replicas' parts of the first one. This fails if the parts have
    different shapes, and uses up one epoch of a data set that counts its epochs. Here the shapes are those of the data
    set's `element_spec`.

    Args:
        model: Made in the scope of a strategy; any other model does not change.

    Example:

    >>> take_uneven_batches(keras.Sequential([keras.layers.Dense(1)]))
    """
    if strategy_of(model) is None:
        return
    distributed = _tensorflow().distribute.DistributedDataset

    def build_from_spec(dataset: Any) -> bool:
        if dataset is None or isinstance(dataset, distributed):  # distributed by the user: it has no shapes
            return False
        build(model, dataset)
        return True

    replace_first_look(model, build_from_spec)


def run_if(condition: Callable[[], Any], update: Callable[[], None]) -> None:
    """Runs `update` on every replica if a condition holds (TensorFlow only; called on every replica).

    `MirroredStrategy` does not allow assignments in a `cond` on a replica. So `merge_call` evaluates the condition
    outside of the replicas, and calls `update` on each replica from there, as Keras' `LossScaleOptimizer` does.

    Args:
        condition: Returns a () boolean tensor that is the same on all replicas.
        update: Assigns variables; returns nothing.
    """
    if supports_no_merge_call():  # GPUs under XLA
        keras.ops.cond(condition(), update, lambda: None)
        return

    def update_if_due(strategy):
        keras.ops.cond(condition(), lambda: strategy.extended.call_for_each_replica(update), lambda: None)

    _tensorflow().distribute.get_replica_context().merge_call(update_if_due)


def on_tensorflow() -> bool:
    """Returns whether Keras runs on TensorFlow.

    Example:

    >>> on_tensorflow() == (keras.config.backend() == "tensorflow")
    True
    """
    return keras.config.backend() == "tensorflow"


def _tensorflow() -> Any:
    import tensorflow

    return tensorflow
