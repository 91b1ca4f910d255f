"""What training needs from `tf.distribute`; the identity without TensorFlow or outside of a strategy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import keras


def num_replicas() -> int:
    """Returns the number of replicas that step together; 1 outside of a `tf.distribute` strategy.

    Example:

    >>> num_replicas()
    1
    """
    return _tensorflow().distribute.get_strategy().num_replicas_in_sync if on_tensorflow() else 1


def all_reduce_sum(value: Any) -> Any:
    """Sums over the replicas.

    Args:
        value: A tensor or a list of tensors. None and `tf.IndexedSlices` are not taken: see `dense`.

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
    """Returns a dense tensor for the `tf.IndexedSlices` that an embedding's gradient is on TensorFlow.

    Its rows may name one index several times, so neither its norm nor a product of two makes sense.

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
    return contextlib.nullcontext() if strategy is None else strategy.scope()


def run_if(condition: Callable[[], Any], update: Callable[[], None]) -> None:
    """Runs `update` on every replica where a tensor says so (TensorFlow only; called on every replica).

    `MirroredStrategy` refuses an assignment inside a `cond` inside a replica. So leave the replicas, ask, enter again:
    the way of Keras' `LossScaleOptimizer`.

    Args:
        condition: Returns a boolean scalar that is the same on all replicas.
        update: Assigns; returns nothing.
    """
    tensorflow = _tensorflow()
    if tensorflow.__internal__.distribute.strategy_supports_no_merge_call():  # GPUs under XLA
        keras.ops.cond(condition(), update, lambda: None)
        return

    def ask(strategy):
        keras.ops.cond(condition(), lambda: strategy.extended.call_for_each_replica(update), lambda: None)

    tensorflow.distribute.get_replica_context().merge_call(ask)


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
