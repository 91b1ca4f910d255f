"""Everything private of Keras and TensorFlow that the library uses: no other file touches a name that begins with `_`.

Each function says why the public interface does not do. `tests/utils/test_keras_private.py` has a test for each,
which fails where a new version of Keras has changed what it stands on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import keras


def kernel(layer: keras.layers.Dense) -> keras.Variable:
    """Return the matrix of a dense layer, as it is stored.

    The public `layer.kernel` of a layer with LoRA is a tensor, the sum of matrix and adapters in the precision that
    the layer computes in. It can be neither assigned nor saved in full precision.
    """
    return layer._kernel


def untrack_variable(layer: keras.layers.Layer, variable: keras.Variable) -> None:
    """Take a variable off a layer's list of weights; does nothing where it is not on it.

    The public interface has `add_weight`, and nothing that takes a weight away again.
    """
    layer._untrack_variable(variable)


def track_variables(layer: keras.layers.Layer, variables: Iterable[keras.Variable]) -> None:
    """Put variables that exist already on the list of weights of a layer that is built.

    A built layer refuses new weights (its tracker is locked), and the public `add_weight` makes a new variable.
    """
    layer._tracker.unlock()
    for variable in variables:
        layer._track_variable(variable)
    layer._tracker.lock()


def all_layers(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """Return a layer or model and all layers inside it, at any depth.

    The public `model.layers` has the outermost layers only, and a layer has no list of its parts.
    """
    return list(layer._flatten_layers())


def num_processes(distribution: Any) -> int:
    """Return over how many processes a distribution of Keras runs.

    Keras 3.12 has no public `num_processes`.
    """
    return distribution.num_processes if hasattr(distribution, "num_processes") else distribution._num_process


def strategy_of(model: keras.Model) -> Any | None:
    """Return the `tf.distribute.Strategy` in whose scope a model was made; None for none, or without TensorFlow.

    The public `model.distribute_strategy` gives the default strategy for none, and exists on TensorFlow only.
    """
    return getattr(model, "_distribute_strategy", None)


def build_for_batch(model: keras.Model, batch: Any) -> None:
    """Make the variables of a compiled model's loss, metrics and optimizer, from the shapes of a batch.

    The public interface makes them in the first step of `fit` only: too late to restore their values before it.

    Args:
        model: Compiled.
        batch: `keras.KerasTensor`s, structured as a batch of `fit`.
    """
    model._symbolic_build(data_batch=batch)


def replace_first_look(model: keras.Model, look: Callable[[Any], bool]) -> None:
    """Has `look` take the place of Keras' own look at the first batch, by which it builds a model (TensorFlow only).

    The public interface has no say in it, and `fit` looks before the first callback is called.

    Args:
        model: Whose own `fit`, `evaluate` and `predict` change.
        look: Takes the data set that was given to `fit`, as Keras holds it, or None; returns whether the model is
            built. If not, Keras looks as ever.
    """
    keras_build = type(model)._maybe_symbolic_build

    def maybe_symbolic_build(iterator=None, data_batch=None):
        dataset = None if iterator is None else iterator.data_adapter.get_tf_dataset()
        if not look(dataset):
            keras_build(model, iterator, data_batch)

    model._maybe_symbolic_build = maybe_symbolic_build


def set_first_epoch(model: keras.Model, epoch: int | None) -> None:
    """Set the epoch with which a `fit` begins that is under way; None for the one that its caller named.

    The public argument `initial_epoch` is read by the caller of `fit`, before a callback knows how far the run came.
    """
    model._initial_epoch = epoch


def optimized_variables(optimizer: keras.optimizers.Optimizer) -> list[keras.Variable]:
    """Return the model's variables that a built optimizer updates.

    The public `optimizer.variables` holds the optimizer's own state only.
    """
    return list(optimizer._trainable_variables)


def adam_moments(optimizer: keras.optimizers.Adam, variable: Any) -> tuple[keras.Variable, keras.Variable]:
    """Return the first and second moments that a built Adam keeps of a variable (in `update_step`, what that is given).

    The public `optimizer.variables` does not tell which moments are whose.
    """
    index = optimizer._get_variable_index(variable)
    return optimizer._momentums[index], optimizer._velocities[index]


def is_decayed(optimizer: keras.optimizers.Optimizer, variable: Any) -> bool:
    """Return whether weight decay applies to a variable (in `update_step`, to what that is given).

    The public `exclude_from_weight_decay` says which ones it spares, and nothing tells afterwards.
    """
    return optimizer._use_weight_decay(variable)


def supports_no_merge_call() -> bool:
    """Return whether the replicas of the current strategy step without ever being merged (TensorFlow only), as under
    XLA.

    TensorFlow exports it for Keras alone, in `tf.__internal__`.
    """
    import tensorflow as tf

    return tf.__internal__.distribute.strategy_supports_no_merge_call()


def record_gradient(name: str, inputs: list[Any], outputs: list[Any]) -> None:
    """Record on active tapes that `outputs` has the gradient registered under a name (TensorFlow only).

    Tapes ask for no `gradient_override_map`, and the public `tf.custom_gradient` keeps a graph that it is used in for
    ever. TensorFlow exports it for Keras alone, in `tf.__internal__`.
    """
    import tensorflow as tf

    tf.__internal__.record_gradient(name, inputs, (), outputs)


def eager_mode() -> AbstractContextManager:
    """Return a context in which TensorFlow runs operations at once, inside any graph.

    The public `tf.init_scope` does so inside a `tf.function`, and stays in the graph inside a `tf.Graph`.
    """
    import tensorflow as tf

    return tf.__internal__.eager_context.eager_mode()


def mask_of(x: Any) -> Any | None:
    """Return the mask that Keras carries with a tensor, boolean (B, T); None where there is none.

    A layer of several tensors gets those masks by arguments with Keras' names only, `{argument}_mask`.
    """
    from keras.src.backend import get_keras_mask

    return get_keras_mask(x)


def operation_of(symbol: keras.KerasTensor) -> Any:
    """Return the layer or operation that gives a symbolic tensor of a functional model."""
    return symbol._keras_history.operation


def with_mask(x: Any, mask: Any | None) -> Any:
    """Return a tensor, which carries a mask of Keras from now on, if there is one."""
    from keras.src.backend import set_keras_mask

    if mask is not None:
        set_keras_mask(x, mask)
    return x


def input_datasets(dataset: Any) -> list[Any]:
    """Return the `tf.data.Dataset`s that one was made from: one for `take`, several for `zip`, none for a source.

    The public interface does not tell. `tf.data.Dataset` asks its subclasses to define this method.
    """
    return list(dataset._inputs())


def function_graph(graph: Any, name: str) -> Any:
    """Return the graph of a function that a graph calls: the body of a loop, a branch, a `tf.function` (TensorFlow
    only).

    The public `graph.as_graph_def().library` has names instead of tensors, and no shapes.
    """
    return graph._get_function(name).graph
