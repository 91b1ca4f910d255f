"""A block that is watched: its own `call`, sub-layer by sub-layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from keras_transformers.layers.blocks.residual import residual

SUBLAYERS = ("attention", "mixer", "cross_attention", "feed_forward")  # attributes of blocks, in the order of a block


class Seen(NamedTuple):
    """What happens in one sub-layer.

    Args:
        part: The name of the sub-layer, one of `SUBLAYERS`.
        inputs: What the block was called with beside the hidden states.
        read: (1, T, D), what the sub-layer reads.
        added: (1, T, D), its output.
        states: (1, T, D), the hidden states behind it.
    """

    part: str
    inputs: dict[str, Any]
    read: Any
    added: Any
    states: Any


class Watched:
    """Stands for a block in a walk through a model, and tells what each sub-layer reads and adds.

    Any block whose `call` adds its sub-layers by `Block.adder`, in the order of `SUBLAYERS`, can be watched.

    Args:
        block: Of `layers`.
        see: Is called with each sub-layer in turn.
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
        """Return what `Block.adder` does, which the block calls for one sub-layer after the other."""
        parts = iter(self.parts)

        def add(hidden_states: Any, sublayer: Callable, norm: Callable | None) -> tuple:
            seen: dict[str, Any] = {}

            def read(x: Any) -> Any:
                seen["read"] = x
                return sublayer(x)

            def note(output: Any) -> Any:  # in the place of the dropout, which does nothing here
                seen["added"] = output
                return output

            states, *more = residual(hidden_states, read, norm, note, self.block.norm_order)  # (1, T, D)
            self.see(Seen(next(parts), self.inputs, states=states, **seen))
            return states, *more

        return add
