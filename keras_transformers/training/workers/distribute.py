"""Helpers for `tf.distribute`. Without TensorFlow, or outside of a strategy, there is one replica."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import keras

from keras_transformers.training.workers.own_batches import make_own_rows
from keras_transformers.utils.backends import check_task_backend
from keras_transformers.utils.keras_private import (
    build_for_batch,
    replace_first_look,
    strategy_of,
    supports_no_merge_call,
)


def check_backend() -> None:
    """Raise a `ValueError` if tasks do not run on the backend; layers may.

    Example:

    >>> check_backend()
    """
    check_task_backend(keras.backend.backend())


def num_replicas() -> int:
    """Return the number of replicas that train in sync; 1 outside of a `tf.distribute` strategy.

    Example:

    >>> num_replicas()
    1
    """
    return _tensorflow().distribute.get_strategy().num_replicas_in_sync if on_tensorflow() else 1


def all_reduce_sum(value: Any) -> Any:
    """Sum a tensor, or each one of a list, over the replicas.

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
    """Convert `tf.IndexedSlices`, the gradient of an embedding on TensorFlow, to a dense tensor.

    Slices may hold several rows for one index. Their norm is wrong until these rows are added.

    Example:

    >>> dense(None) is None
    True
    """
    if gradient is None or not on_tensorflow():
        return gradient
    return _tensorflow().convert_to_tensor(gradient)


def scope(strategy: Any | None) -> contextlib.AbstractContextManager:
    """Return `strategy.scope()`, or an empty scope for None, to build and compile a model in.

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
    """Create the variables of a compiled model's loss, metrics and optimizer, as Keras does at the first step.

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


def adapt_fit(model: keras.Model) -> None:
    """Let `fit` and `evaluate` of a model that was made in the scope of a strategy take all batches and workers.

    Args:
        model: Model to adapt; a model made outside the scope of a strategy does not change.

    Example:

    >>> adapt_fit(keras.Sequential([keras.layers.Dense(1)]))
    """
    strategy = strategy_of(model)
    if strategy is not None:
        take_uneven_batches(model)
    if num_workers(strategy) > 1:
        log_over_workers(model)
        make_own_rows(strategy)


def take_uneven_batches(model: keras.Model) -> None:
    """Let `fit` and `evaluate` start with a batch that does not divide evenly among the replicas.

    To find the shapes of a batch, Keras adds up the replicas' parts of the first one. This fails if the parts have
    different shapes, and uses up one epoch of a data set that counts its epochs. Here the shapes come from the data
    set's `element_spec`.

    Args:
        model: Model made in the scope of a strategy.
    """
    distributed = _tensorflow().distribute.DistributedDataset

    def build_from_spec(dataset: Any) -> bool:
        if dataset is None or isinstance(dataset, distributed):  # distributed by the user: it has no shapes
            return False
        build(model, dataset)
        return True

    replace_first_look(model, build_from_spec)


def log_over_workers(model: keras.Model) -> None:
    """Let `fit` and `evaluate` run on several workers (keras#20585).

    Keras averages what the workers log over its first axis, which a scalar does not have: here each value gets one.

    Args:
        model: Model made in the scope of a strategy with several workers.
    """
    for name in ("train_step", "test_step"):
        setattr(model, name, partial(_with_first_axis, getattr(type(model), name), model))


def _with_first_axis(step: Callable, model: keras.Model, data: Any) -> Any:
    return keras.tree.map_structure(lambda value: keras.ops.expand_dims(value, 0), step(model, data))  # (1, ...)


def num_workers(strategy: Any | None) -> int:
    """Return the number of processes that train together; 1 without a strategy, or for one of a single process.

    Example:

    >>> num_workers(None)
    1
    """
    jobs = _jobs(strategy)
    return max(1, len(jobs.get("chief", [])) + len(jobs.get("worker", [])))


def is_chief(strategy: Any | None) -> bool:
    """Return whether this process is the one of a strategy's workers that writes files.

    Example:

    >>> is_chief(None)
    True
    """
    if strategy is None or num_workers(strategy) == 1:
        return True
    task, chief = strategy.cluster_resolver, "chief" if "chief" in _jobs(strategy) else "worker"
    return (task.task_type, task.task_id) == (chief, 0)


def _jobs(strategy: Any | None) -> dict[str, list[str]]:
    """Return the addresses of the processes of a strategy of several workers, by type; {} for another strategy."""
    if strategy is None or not isinstance(strategy, _tensorflow().distribute.MultiWorkerMirroredStrategy):
        return {}
    return strategy.cluster_resolver.cluster_spec().as_dict()


def sum_over_replicas(strategy: Any | None, number: int) -> int:
    """Return the sum, over all replicas, of the number that their worker calls this with; each worker must call it.

    Args:
        strategy: Distribution strategy with several workers; with any other, or None, there is one replica.
        number: Number from -2^31 to 2^31 - 1; the sum is in this range, too.

    Example:

    >>> sum_over_replicas(None, 3)
    3
    """
    if num_workers(strategy) == 1:
        return number
    return int(_summing(strategy)(_tensorflow().constant(number)))


def is_agreed(strategy: Any | None, number: int) -> bool:
    """Return whether all workers call this with the same number; each of them must call it.

    Example:

    >>> is_agreed(None, 3)
    True
    """
    if strategy is None or num_workers(strategy) == 1:
        return True
    return sum_over_replicas(strategy, number) == number * strategy.num_replicas_in_sync


@cache
def _summing(strategy: Any) -> Callable:
    tf = _tensorflow()

    @tf.function  # traced once; `reduce` by itself takes twice as long
    def total(number):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(tf.identity, args=(number,)), axis=None)

    return total


def run_if(condition: Callable[[], Any], update: Callable[[], None]) -> None:
    """Run `update` on every replica if a condition holds (TensorFlow only; called on every replica).

    `MirroredStrategy` does not allow assignments in a `cond` on a replica. So `merge_call` evaluates the condition
    outside of the replicas, and calls `update` on each replica from there, as Keras' `LossScaleOptimizer` does.

    Args:
        condition: Function that returns a () boolean tensor that is the same on all replicas.
        update: Assigns variables; returns nothing.
    """
    if supports_no_merge_call():  # GPUs under XLA
        keras.ops.cond(condition(), update, lambda: None)
        return

    def update_if_due(strategy):
        keras.ops.cond(condition(), lambda: strategy.extended.call_for_each_replica(update), lambda: None)

    _tensorflow().distribute.get_replica_context().merge_call(update_if_due)


def on_tensorflow() -> bool:
    """Return whether Keras runs on TensorFlow.

    Example:

    >>> on_tensorflow() == (keras.config.backend() == "tensorflow")
    True
    """
    return keras.config.backend() == "tensorflow"


def _tensorflow() -> Any:
    import tensorflow

    return tensorflow
