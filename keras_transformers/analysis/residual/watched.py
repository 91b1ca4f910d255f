"""A wrapper that watches a block: it runs the block's own `call`, sub-layer by sub-layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from keras_transformers.layers.blocks.residual import residual

SUBLAYERS = ("attention", "mixer", "cross_attention", "feed_forward")  # attributes of blocks, in the order of a block


class Seen(NamedTuple):
    """The record of one sub-layer.

    Args:
        part: The name of the sub-layer, one of `SUBLAYERS`.
        inputs: The inputs of the block besides the hidden states.
        read: (1, T, D), the input of the sub-layer.
        added: (1, T, D), its output; after the norm of it, if there is one, and the scale.
        states: (1, T, D), the hidden states after it.
    """

    part: str
    inputs: dict[str, Any]
    read: Any
    added: Any
    states: Any


class Watched:
    """A stand-in for a block in a forward pass, which reports the input and output of each sub-layer.

    Any block whose `call` adds its sub-layers by `Block.adder`, in the order of `SUBLAYERS`, can be watched.

    Args:
        block: A block of `layers`.
        see: A function that is called with the record of each sub-layer.
    """

    def __init__(self, block: keras.layers.Layer, see: Callable[[Seen], None]):
        self.block, self.see = block, see
        self.parts = [name for name in SUBLAYERS if getattr(block, name, None) is not None]
        self.inputs: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.block, name)

    def __call__(self, hidden_states: Any, **inputs: Any) -> Any:
        self.inputs = inputs
        return type(self.block).call(self, hidden_states, **inputs, training=False)

    def adder(self, training: bool | None) -> Callable:
        """Return the function that replaces `Block.adder`'s: the block calls it for each of its sub-layers."""
        parts = iter(self.parts)

        def add(
            hidden_states: Any, sublayer: Callable, norm: Any, output_norm: Any = None, source: Any = None
        ) -> tuple:
            seen: dict[str, Any] = {}

            def read(x: Any) -> Any:
                seen["read"] = x
                return sublayer(x)

            def note(output: Any) -> Any:  # in the place of the dropout, which does nothing here
                seen["added"] = output * scale
                return output

            order, scale = self.block.norm_order, self.block.residual_scale
            if order == "res_post":
                norm = _then(norm, note)
            states, *more = residual(
                hidden_states, read, norm, note, order, output_norm and _then(output_norm, note), scale, source
            )  # (1, T, D)
            self.see(Seen(next(parts), self.inputs, states=states, **seen))
            return states, *more

        return add


def _then(norm: Callable | None, note: Callable) -> Callable:
    """Return a norm whose output is noted."""
    return lambda output: note(output if norm is None else norm(output))
