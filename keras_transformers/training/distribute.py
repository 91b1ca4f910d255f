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


def build(model: keras.Model, dataset: Any) -> None:
    """Makes the variables of a compiled model's loss, metrics and optimizer, as Keras does at the first step.

    Args:
        model: Compiled.
        dataset: A `tf.data.Dataset`, of which nothing but the shapes is read, or another iterable of batches.
    """
    batch = getattr(dataset, "element_spec", None)
    if batch is None:
        batch = next(iter(dataset))
    batch = keras.tree.map_structure(
        lambda x: keras.KerasTensor(tuple(x.shape), keras.backend.standardize_dtype(x.dtype)), batch
    )
    with scope(getattr(model, "distribute_strategy", None)):
        model._symbolic_build(data_batch=batch)


def take_uneven_batches(model: keras.Model) -> None:
    """Lets `fit` and `evaluate` under a strategy start with a batch that does not divide evenly by the replicas.

    Keras adds up the replicas' parts of the first batch to look at their shapes, which must then be the same; and so
    uses up an epoch of a data set that counts them. Here the shapes are those of the data set.

    Args:
        model: Made in the scope of a strategy; others are left as they are.

    Example:

    >>> take_uneven_batches(keras.Sequential([keras.layers.Dense(1)]))
    """
    if getattr(model, "_distribute_strategy", None) is None:
        return
    distributed = _tensorflow().distribute.DistributedDataset
    keras_build = type(model)._maybe_symbolic_build

    def maybe_symbolic_build(iterator=None, data_batch=None):
        dataset = None if iterator is None else iterator.data_adapter.get_tf_dataset()
        if dataset is None or isinstance(dataset, distributed):  # the user has distributed it: no shapes to be had
            keras_build(model, iterator, data_batch)
        else:
            build(model, dataset)

    model._maybe_symbolic_build = maybe_symbolic_build


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
