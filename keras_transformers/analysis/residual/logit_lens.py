"""The logit lens: the outputs of a model's own head for the residual stream after each sub-layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.analysis.residual.residual_stream import Step, finish_layers
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.utils.keras_private import last_output


class LogitLens:
    """The logit lens of a model: its head by itself, which is all that the graph computes after the last norm.

    The head is taken from the model's graph, whatever it contains: the transform of BERT's masked LM, a pooler, a tied
    projection with a scale or a bias.
    Paper: nostalgebraist 2020, "interpreting GPT: the logit lens".

    Args:
        config: The model's configuration.
        model: A model with the head of a task.
        output: Name of the output to read.

    Example:

    >>> from keras_transformers.analysis.residual.residual_stream import record_stream
    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.heads import language_model_head
    >>> from keras_transformers.models import decoder
    >>> config = gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> body = decoder(config)
    >>> logits = language_model_head(config, body.get_layer("token_embedding"), body.output["hidden_states"])
    >>> model, ids = keras.Model(body.input, {"logits": logits}), np.array([[2, 5, 3]], "int32")
    >>> inputs = {"token_ids": ids, "padding_mask": 0 * ids + 1}
    >>> *_, last = LogitLens(config, model, "logits").read(record_stream(config, model, inputs), inputs)
    >>> bool(np.allclose(last, model(inputs)["logits"][0], atol=1e-5))
    True
    """

    def __init__(self, config: TransformerConfig, model: keras.Model, output: str):
        self.config, self.finish = config, finish_layers(config, model)
        side = "encoder" if config.kind == "encoder" else "decoder"
        last = config.shared_block(config.num_blocks(side) - 1) if side == "encoder" else config.num_blocks(side) - 1
        end = self.finish[-1] if self.finish else model.get_layer(f"{side}_block_{last}")
        states = last_output(end) if config.num_block_groups else keras.tree.flatten(end.output)[0]  # (B, T, D)
        self.names = tuple(model.input)
        self.head = keras.Model([states, *model.input.values()], model.output[output])

    def read(self, steps: Sequence[Step], inputs: Mapping[str, Any]) -> Iterator[np.ndarray]:
        """Yield the output of the head for the stream after each step; the last one is the model's own output.

        Args:
            steps: The steps of `record_stream`, or a slice of their positions.
            inputs: The model's inputs at the same positions, each (1, T).

        Returns:
            For each step the output without its first axis, float32.
        """
        for step in steps:
            yield self._head(self._finished(step.states), inputs)

    def additions(self, steps: Sequence[Step], inputs: Mapping[str, Any]) -> Iterator[np.ndarray]:
        """Yield what each step adds to the output of a pre-norm model whose head is affine after the last norm.

        The last norm divides by one number at each position, which depends on the last states. With this number fixed,
        the output is the sum of what the steps add and `rest`. In post-norm blocks, each norm divides by another
        number: there is no such sum.

        Args:
            steps, inputs: As for `read`.

        Returns:
            As `read`.
        """
        zero = self._head(np.zeros_like(steps[-1].states), inputs)
        scale = self._spread(steps[-1].states)  # (T, 1)
        offset = self._finished(np.zeros_like(steps[-1].states))  # (T, D)
        for step in steps:
            direction = self._finished(step.added) - offset
            yield self._head(direction * self._spread(step.added) / scale, inputs) - zero

    def rest(self, steps: Sequence[Step], inputs: Mapping[str, Any]) -> np.ndarray:
        """Return what the biases of the last norm and of the head add to the output."""
        return self._head(self._finished(np.zeros_like(steps[-1].states)), inputs)

    def _finished(self, states: np.ndarray) -> np.ndarray:
        """Return the stream after the last norm, if the model has one: (T, D)."""
        tensor = ops.convert_to_tensor(states[None])
        for layer in self.finish:
            tensor = layer(tensor, training=False) if "dropout" in layer.name else layer(tensor)
        return ops.convert_to_numpy(ops.cast(tensor, "float32"))[0]

    def _spread(self, states: np.ndarray) -> np.ndarray:
        """Return the number that the last norm divides by: float64 (T, 1)."""
        states = states.astype("float64")
        if self.config.norm == "layer":
            states = states - states.mean(-1, keepdims=True)
        return np.sqrt(np.square(states).mean(-1, keepdims=True) + self.config.epsilon)

    def _head(self, states: np.ndarray, inputs: Mapping[str, Any]) -> np.ndarray:
        tensors = [states[None].astype("float32"), *(inputs[name] for name in self.names)]
        output = self.head([ops.convert_to_tensor(tensor) for tensor in tensors])
        return ops.convert_to_numpy(ops.cast(output, "float32"))[0]
