"""The service of answers by one pass on TensorFlow: signatures as traced functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import keras
import numpy as np

from keras_transformers.tasks.answers.readers import GraphReader, Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.exports.frozen import freeze
from keras_transformers.text.strings import decoded, with_rows


class TracedService:
    """A reader and signatures as TensorFlow functions, traced once.

    Args:
        model: The model whose weights the signatures use.
        signatures: Functions to trace, by name.
        read: The reader that they call.
        frozen: Whether the weights are constants: see `frozen.freeze`.

    Attributes:
        module: The weights and tables, to be saved; without the functions, which are saved as signatures.
        signatures: `tf.function`s of (B,) strings, by name.
    """

    def __init__(
        self, model: keras.Model, signatures: Mapping[str, Signature], read: GraphReader, frozen: bool = False
    ):
        import tensorflow as tf

        self.module = tf.Module()
        self.module.graph = read.graph
        # The variables, not the model: a compiled model refers to its optimizer, which would be saved too.
        variables, scope = freeze(model.variables) if frozen else (model.variables, nullcontext)
        self.module.weights = [variable.value for variable in variables]
        kept = tf.saved_model.experimental.TrackableResource  # tables in layers of a user's own model
        self.module.tables = [part for part in tf.train.TrackableView(model).descendants() if isinstance(part, kept)]
        self.signatures = {name: _traced(signature, read, scope) for name, signature in signatures.items()}
        self.traces: dict[str, Any] = {}

    def start(
        self, name: str, columns: Sequence[Sequence], batch_size: int | None = None
    ) -> Callable[[], dict[str, np.ndarray]]:
        """Return a function that computes what `run` returns: TensorFlow does so when it is called, not ahead."""
        return partial(self.run, name, columns)

    def run(self, name: str, columns: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
        """Return the outputs of a signature by name, as arrays; strings in them are `str`."""
        import tensorflow as tf

        if name not in self.traces:
            # TensorFlow warns when many functions are called for the first time, but not when they are traced.
            self.traces[name] = self.signatures[name].get_concrete_function()
        answer = self.traces[name](*(tf.constant(column, tf.string) for column in columns))
        return {name: decoded(column.numpy()) for name, column in answer.items()}


def _traced(signature: Signature, read: GraphReader, scope: Callable[[], AbstractContextManager]) -> Any:
    """Return a `tf.function` of a signature, traced in a scope: all inputs are strings, of one batch size if rows."""
    import tensorflow as tf

    def run(first: Any, *others: Any) -> Tensors:
        rows = len(others) - signature.shared
        named = dict(zip(signature.inputs[1:], others[:rows], strict=False))
        named = with_rows(named, tf.size(first), signature.inputs[0])
        with scope():
            return signature.run(read, first, *named.values(), *others[rows:])

    ranks = zip(signature.inputs, signature.ranks, strict=False)
    specs = [tf.TensorSpec([None] * rank, tf.string, name=name) for name, rank in ranks]
    return tf.function(run, input_signature=specs, autograph=False)
