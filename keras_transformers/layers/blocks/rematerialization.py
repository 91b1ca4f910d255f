"""Rematerialisation: blocks that keep only their inputs for the gradient, and compute their inner values again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.blocks.residual import NORM_ORDERS, residual
from keras_transformers.layers.core.custom_gradient import custom_gradient, in_graph
from keras_transformers.layers.core.dropout import GIVEN_SEEDS, Dropout
from keras_transformers.layers.interface.input_checks import check_choice, check_positive
from keras_transformers.layers.interface.layer_options import Layer
from keras_transformers.utils.keras_private import all_layers, with_mask_of
from keras_transformers.utils.tensor_types import Tensor


class Block(Layer):
    """The base class of all blocks.

    Args:
        norm_order: `"post"`, `"pre"`, `"res_post"` or `"sandwich"`, as in `residual`, of all sublayers.
        residual_scale: Factor of what each sublayer adds.
        parallel: Whether the feed-forward layer reads the block's input, as the attention does; only in `"pre"`.

    Attributes:
        remat: Whether a training step computes the inner values of the block twice, instead of keeping them. It is set
            on existing blocks (`training.remat`): it belongs to a run, not to the saved model.
    """

    remat = False

    def __init__(self, norm_order: str, residual_scale: float = 1.0, parallel: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        check_choice(norm_order, NORM_ORDERS, "norm_order")
        check_positive(residual_scale=residual_scale)
        if parallel and norm_order != "pre":
            raise ValueError(f"parallel=True needs norm_order='pre': received norm_order={norm_order!r}.")
        self.norm_order, self.residual_scale, self.parallel = norm_order, residual_scale, parallel
        self.supports_masking = True

    def norms(self, name: str, make: Callable[[str], Any]) -> tuple[Any, Any]:
        """Return the norm of a sublayer, and the one on its output, which only `"sandwich"` has."""
        return make(f"{name}_norm"), make(f"{name}_output_norm") if self.norm_order == "sandwich" else None

    def adder(self, training: bool | None) -> Callable:
        """Return `residual` with this block's dropout, norm order and scale."""
        dropout, scale = partial(self.dropout, training=training), self.residual_scale
        return partial(residual, dropout=dropout, norm_order=self.norm_order, scale=scale)


def rematerialized(call: Callable) -> Callable:
    """Return the `call` of a `Block`, with the attribute `remat`.

    `keras.RematScope` does not work for blocks: on TensorFlow it takes no tensors by name and draws other dropout the
    second time; on JAX dropout fails in it.
    Paper: Chen et al. 2016, https://arxiv.org/abs/1604.06174.
    """

    @wraps(call)
    def with_remat(self, *arguments, training=None, **inputs):
        if not (self.remat and training):
            return call(self, *arguments, training=training, **inputs)
        dropouts = [layer for layer in all_layers(self) if isinstance(layer, Dropout) and layer.rate > 0]

        def function(given):
            arguments, inputs = given
            return call(self, *arguments, training=training, **inputs)

        return recompute(function, (arguments, inputs), dropouts)

    return with_remat


def recompute(function: Callable[[Any], Any], inputs: Any, dropouts: Sequence[Dropout] = ()) -> Any:
    """Call a function so that its gradient computes it again, with the same dropout, instead of keeping inner values.

    Args:
        function: Function of `inputs`. On TensorFlow only the first output is computed again. Others are computed
            separately, as usual, which costs nothing if a graph does not use them.
        inputs: A structure of tensors and other values.
        dropouts: All dropout layers that the function calls.

    Returns:
        A tensor, or a tuple whose first member is one.

    Example:

    >>> recompute(lambda inputs: ops.square(inputs["x"]), {"x": np.array([3.0], "float32")}).numpy().tolist()
    [9.0]
    """
    flat = keras.tree.flatten(inputs)
    places = [place for place, value in enumerate(flat) if _is_float(value)]  # others have no gradient
    starts = [dropout.seed_generator.state.value * 1 for dropout in dropouts]  # (2,) each
    draws: list[_Draws] = []

    def run(zero, *tensors):
        # On TensorFlow `zero` comes with the gradient: values computed without it would be kept from the forward pass.
        given = {
            place: with_mask_of(tensor + ops.cast(zero, tensor.dtype), flat[place])
            for place, tensor in zip(places, tensors, strict=True)
        }
        values = keras.tree.pack_sequence_as(inputs, [given.get(place, value) for place, value in enumerate(flat)])
        draws[:] = [_Draws(start + ops.cast(zero, start.dtype)) for start in starts]
        token = GIVEN_SEEDS.set({id(dropout): drawn for dropout, drawn in zip(dropouts, draws, strict=True)})
        try:
            return function(values)
        finally:
            GIVEN_SEEDS.reset(token)

    outputs = _remat(run, ops.zeros(()), *(flat[place] for place in places))
    for dropout, start, drawn in zip(dropouts, starts, draws, strict=True):
        dropout.seed_generator.state.assign(_after(start, drawn.number))
    return outputs


def _remat(run: Callable, *tensors: Tensor) -> Any:
    if keras.backend.backend() != "tensorflow":
        return keras.remat(run)(*tensors)
    others: list[Tensor] = []

    def first(*tensors):
        outputs = run(*tensors)
        others[:] = outputs[1:] if isinstance(outputs, tuple) else ()
        return outputs[0] if isinstance(outputs, tuple) else outputs

    output = (_recomputed(first) if in_graph() else keras.remat(first))(*tensors)
    # As outputs of the same function TensorFlow would keep them all, for gradients of zero.
    return (output, *run(*tensors)[1:]) if others else output


def _recomputed(function: Callable) -> Callable:
    """Do what `keras.remat` does in a graph, but let TensorFlow free the graph: see `custom_gradient`."""
    import tensorflow as tf

    def forward(zero, *tensors):
        def gradient(upstream, variables=()):
            inputs = [tf.identity(tensor) for tensor in tensors]
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                output = function(zero + _zero_after(upstream), *inputs)
            slopes = tape.gradient(output, [*inputs, *variables], upstream, unconnected_gradients="zero")
            of_inputs = [None, *slopes[: len(inputs)]]
            return (of_inputs, slopes[len(inputs) :]) if variables else of_inputs

        return function(zero, *tensors), gradient

    return custom_gradient(forward)


def _zero_after(upstream: Tensor) -> Tensor:
    """Return a zero () that depends on the gradient; XLA ignores control dependencies and simplifies 0 * x."""
    first = ops.max(ops.cast(ops.reshape(upstream, (-1,))[:1], "float32"))
    return ops.where(first == first, 0.0, float("nan"))


class _Draws:
    """A source of the seeds that a generator gives after a state (2,)."""

    def __init__(self, start: Tensor):
        self.start, self.number = start, 0

    def __call__(self) -> Tensor:
        seed = _after(self.start, self.number)
        self.number += 1
        return seed


def _after(state: Tensor, draws: int) -> Tensor:
    """Return the state (2,) of a seed generator after some draws, which its second number counts."""
    return state + ops.convert_to_tensor([0, draws], dtype=state.dtype)


def _is_float(value: Any) -> bool:
    return ops.is_tensor(value) and keras.backend.is_float_dtype(keras.backend.standardize_dtype(value.dtype))
