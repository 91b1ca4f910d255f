"""All uses of private names of Keras and TensorFlow: no other file uses a name that begins with `_`.

Each function says why the public interface is not enough. `tests/utils/test_keras_private.py` tests each of them, and
fails if a new version of Keras has changed the private part.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import keras


def kernel(layer: keras.layers.Dense) -> keras.Variable:
    """Return the matrix of a dense layer, as it is stored.

    The public `layer.kernel` of a layer with LoRA is a tensor, the sum of matrix and adapters in the precision that
    the layer computes in. It can be neither assigned nor saved in full precision.
    """
    return layer._kernel


def untrack_variable(layer: keras.layers.Layer, variable: keras.Variable) -> None:
    """Remove a variable from a layer's list of weights; do nothing if it is not in the list.

    The public interface has `add_weight`, but nothing that removes a weight.
    """
    layer._untrack_variable(variable)


def track_variables(layer: keras.layers.Layer, variables: Iterable[keras.Variable]) -> None:
    """Add existing variables to the list of weights of a built layer.

    A built layer refuses new weights (its tracker is locked), and the public `add_weight` makes a new variable.
    """
    layer._tracker.unlock()
    for variable in variables:
        layer._track_variable(variable)
    layer._tracker.lock()


@contextmanager
def without_values() -> Iterator[list[keras.Variable]]:
    """Make variables without values inside, from initialisers only: see `set_value` and `initialize`.

    The public `keras.StatelessScope(initialize_variables=False)` keeps them in a list of Keras, all of which the end of
    any later scope initialises. They are taken off it.

    Returns:
        A list, which has the variables at the end.
    """
    from keras.src.backend.common import global_state

    waiting = global_state.get_global_attribute("uninitialized_variables", [], set_to_default=True)
    made: list[keras.Variable] = []
    begin = len(waiting)
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield made
    finally:
        made += waiting[begin:]
        del waiting[begin:]


def set_value(variable: keras.Variable, value: Any) -> None:
    """Assign a value to a variable, or give its first value to one without; the shape is not checked for the latter.

    The public `assign` needs a variable that has a value.
    """
    if variable._value is not None:
        variable.assign(value)
        return
    variable._initialize(keras.ops.convert_to_tensor(value, dtype=variable._dtype))
    variable._initializer = None


def initialize(variable: keras.Variable) -> None:
    """Run the initialiser of a variable if it has no value.

    There is no public method for it.
    """
    if variable._value is None:
        variable._deferred_initialize()


def all_layers(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """Return a layer or model and all layers inside it, at any depth.

    The public `model.layers` has the outermost layers only, and a layer has no public list of its inner layers.
    """
    return list(layer._flatten_layers())


def num_processes(distribution: Any) -> int:
    """Return the number of processes of a Keras distribution.

    Keras 3.12 has no public `num_processes`.
    """
    return distribution.num_processes if hasattr(distribution, "num_processes") else distribution._num_process


def strategy_of(model: keras.Model) -> Any | None:
    """Return the `tf.distribute.Strategy` in whose scope a model was made; None if there was none, or without
    TensorFlow.

    The public `model.distribute_strategy` returns the default strategy if there was none, and exists on TensorFlow
    only.
    """
    return getattr(model, "_distribute_strategy", None)


def build_for_batch(model: keras.Model, batch: Any) -> None:
    """Make the variables of a compiled model's loss, metrics and optimizer, from the shapes of a batch.

    The public interface makes them in the first step of `fit` only: too late to restore their values before it.

    Args:
        model: Compiled model.
        batch: `keras.KerasTensor`s, structured as a batch of `fit`.
    """
    model._symbolic_build(data_batch=batch)


def replace_first_look(model: keras.Model, look: Callable[[Any], bool]) -> None:
    """Replace the step in which Keras looks at the first batch to build a model by `look` (TensorFlow only).

    The public interface cannot change it, and `fit` takes this step before it calls the first callback.

    Args:
        model: The model whose `fit`, `evaluate` and `predict` change.
        look: Function that takes the data set given to `fit`, as Keras holds it, or None, and returns whether the model
            is built. If it is not, Keras takes its usual step.
    """
    keras_build = type(model)._maybe_symbolic_build

    def maybe_symbolic_build(iterator=None, data_batch=None):
        dataset = None if iterator is None else iterator.data_adapter.get_tf_dataset()
        if not look(dataset):
            keras_build(model, iterator, data_batch)

    model._maybe_symbolic_build = maybe_symbolic_build


def set_first_epoch(model: keras.Model, epoch: int | None) -> None:
    """Set the first epoch of a running `fit`; None for the `initial_epoch` that its caller gave.

    The public argument `initial_epoch` is set by the caller of `fit`, before a callback knows the epoch to resume from.
    """
    model._initial_epoch = epoch


def optimized_variables(optimizer: keras.optimizers.Optimizer) -> list[keras.Variable]:
    """Return the model's variables that a built optimizer updates.

    The public `optimizer.variables` holds the optimizer's own state only.
    """
    return list(optimizer._trainable_variables)


def adam_moments(optimizer: keras.optimizers.Adam, variable: Any) -> tuple[keras.Variable, keras.Variable]:
    """Return the first and second moments that a built Adam keeps of a variable (in `update_step`, its argument).

    The public `optimizer.variables` does not tell which moments belong to which variable.
    """
    index = optimizer._get_variable_index(variable)
    return optimizer._momentums[index], optimizer._velocities[index]


def is_decayed(optimizer: keras.optimizers.Optimizer, variable: Any) -> bool:
    """Return whether weight decay applies to a variable (in `update_step`, to its argument).

    The public `exclude_from_weight_decay` sets the excluded variables, but nothing public returns them.
    """
    return optimizer._use_weight_decay(variable)


def supports_no_merge_call() -> bool:
    """Return whether the current strategy has no merge call between replicas, as under XLA (TensorFlow only).

    TensorFlow exports it for Keras alone, in `tf.__internal__`.
    """
    import tensorflow as tf

    return tf.__internal__.distribute.strategy_supports_no_merge_call()


def record_gradient(name: str, inputs: list[Any], outputs: list[Any]) -> None:
    """Record on active tapes that `outputs` has the gradient registered under a name (TensorFlow only).

    Tapes ignore `gradient_override_map`, and the public `tf.custom_gradient` never frees the graph that it is used in.
    TensorFlow exports it for Keras alone, in `tf.__internal__`.
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

    A layer of several inputs gets their masks only by arguments that Keras names, `{argument}_mask`.
    """
    from keras.src.backend import get_keras_mask

    return get_keras_mask(x)


def hub_sublayer(layer: keras.layers.Layer, name: str) -> Any | None:
    """Return an inner layer of a block of keras_hub, whose names begin with `_`; None if the layer has none of it."""
    return getattr(layer, f"_{name}", None)


def mark_masked(x: Any) -> None:
    """Mark a tensor that carries a mask, for `mask_is_removed`.

    Keras keeps no trace of a removed mask. Tensors of JAX programs take no attributes; they need none.
    """
    with suppress(AttributeError):
        x.had_keras_mask = True


def mask_is_removed(x: Any) -> bool | None:
    """Return whether Keras has removed a tensor's mask; None if it was removed, or never there.

    `keras.layers.MultiHeadAttention` sets the attribute `_keras_mask` of its inputs to None. Masks of tensors without
    attributes, for example of JAX programs, are in a dictionary; what deletes the entry at the tensor's end remains.
    """
    if hasattr(x, "_keras_mask"):
        return None if x._keras_mask is None and not hasattr(x, "had_keras_mask") else x._keras_mask is None
    try:
        finalizers = [reference.__callback__ for reference in weakref.getweakrefs(x)]
    except TypeError:
        return False
    ends = [end.peek() for end in finalizers if isinstance(end, weakref.finalize)]
    return mask_of(x) is None and any(end is not None and "_keras_mask" in end[2] for end in ends)


def last_output(layer: keras.layers.Layer) -> keras.KerasTensor:
    """Return the first output of the last call of a layer that a functional model calls several times.

    The public `layer.output` is for layers that are called once.
    """
    return layer._inbound_nodes[-1].output_tensors[0]


def operation_of(symbol: keras.KerasTensor) -> Any:
    """Return the layer or operation that gives a symbolic tensor of a functional model."""
    return symbol._keras_history.operation


def with_mask(x: Any, mask: Any | None) -> Any:
    """Return the tensor after Keras' mask is attached to it; unchanged if the mask is None."""
    from keras.src.backend import set_keras_mask

    if mask is not None:
        set_keras_mask(x, mask)
    return x


def with_mask_of(x: Any, source: Any) -> Any:
    """Return a tensor after the mask of another one is attached to it, or the fact that it was removed."""
    if mask_is_removed(source) is not False:
        with suppress(AttributeError):
            x._keras_mask = None
    if hasattr(source, "had_keras_mask"):
        mark_masked(x)
    return with_mask(x, mask_of(source))


def input_datasets(dataset: Any) -> list[Any]:
    """Return the inputs of a `tf.data.Dataset`: one for `take`, several for `zip`, none for a source.

    There is no public method for it. `tf.data.Dataset` asks its subclasses to define this one.
    """
    return list(dataset._inputs())


def function_graph(graph: Any, name: str) -> Any:
    """Return the graph of a function called in a graph: the body of a loop, a branch, a `tf.function` (TensorFlow
    only).

    The public `graph.as_graph_def().library` has names instead of tensors, and no shapes.
    """
    return graph._get_function(name).graph
