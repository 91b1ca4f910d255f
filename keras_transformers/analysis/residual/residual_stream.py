"""Recordings of the residual stream on one text: what each attention and feed-forward layer adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.analysis.residual.watched import Seen, Watched
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import padding_mask
from keras_transformers.models.build import stack
from keras_transformers.models.decoder import whole
from keras_transformers.models.encoder import encode_source, walk
from keras_transformers.utils.tensor_types import Tensor

LATER = ("cross_attention", "feed_forward")  # sub-layers that do not begin a block


class Step(NamedTuple):
    """A step of the residual stream: the embeddings, or one sub-layer of a block.

    Args:
        layer: Number of the block, from 0; None for the embeddings.
        part: `"embedding"`, `"attention"`, `"cross_attention"` or `"feed_forward"`; for a mixer other than attention
            `config.mixer`, or the block's own.
        added: float32 (T, D): the output of the sub-layer, which is added to the stream; or the embeddings.
        states: float32 (T, D): the stream after it; in post-norm blocks after the norm.
    """

    layer: int | None
    part: str
    added: np.ndarray
    states: np.ndarray


def record_stream(config: TransformerConfig, model: keras.Model, inputs: Mapping[str, Any]) -> list[Step]:
    """Run the forward pass of one text and return the steps of the last stack, whose states the head reads.

    In a pre-norm model the last states are the sum of all that was added. In a post-norm model a norm follows each
    addition, so that they are not.
    Paper: Elhage et al. 2021, https://transformer-circuits.pub/2021/framework.

    Args:
        config: The model's configuration.
        model: A model of `models`, with or without the head of a task.
        inputs: One row without padding: int32 (1, T) `token_ids`, `padding_mask`, and any other inputs of the model.

    Returns:
        The embeddings, then the sub-layers of every block; without the last norm of a pre-norm model.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.models import decoder
    >>> config = gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> ids = np.array([[2, 5, 3]], "int32")
    >>> steps = record_stream(config, decoder(config), {"token_ids": ids, "padding_mask": 0 * ids + 1})
    >>> [(step.layer, step.part) for step in steps]
    [(None, 'embedding'), (0, 'attention'), (0, 'feed_forward')]
    """
    inputs = {name: ops.convert_to_tensor(value) for name, value in inputs.items()}
    steps: list[Step] = []
    side = "encoder" if config.kind == "encoder" else "decoder"
    layers: dict[str, Any] = {layer.name: layer for layer in model.layers}
    for name in [name for name in layers if name.startswith(f"{side}_block_")]:
        layers[name] = Watched(layers[name], _noter(steps, config, side))
    if config.kind == "encoder":
        states, _ = walk(
            config, layers, inputs["token_ids"], padding_mask(inputs["padding_mask"]), inputs.get("segment_ids")
        )
    else:
        encoder_inputs: dict[str, Tensor] = {}
        if config.kind == "encoder_decoder":
            *_, encoder_inputs = encode_source(config, layers, inputs)
        states, *_ = whole(config, layers, inputs, **encoder_inputs)
    first = _array(states[0])
    return [Step(None, "embedding", first, first), *steps]


def finish_layers(config: TransformerConfig, model: keras.Model) -> list[keras.layers.Layer]:
    """Return the layers after the last block of a pre-norm model: the norm and, in some families, a dropout."""
    layers = stack({layer.name: layer for layer in model.layers}, "decoder")
    return [layers[name] for name in ("final_norm", "final_dropout") if name in layers]


def _noter(steps: list[Step], config: TransformerConfig, side: str) -> Any:
    def note(seen: Seen) -> None:
        # Blocks so far; one that several layers share is called for each.
        index = sum(step.part not in LATER for step in steps) - (seen.part in LATER)
        own = config.mixer if config.mixer != "attention" else config.block(index, side).mixer
        part = own if seen.part == "mixer" else seen.part
        steps.append(Step(index, part, _array(seen.added), _array(seen.states)))

    return note


def _array(x: Any) -> np.ndarray:
    """Return a tensor (1, T, D) as a float32 array (T, D)."""
    return ops.convert_to_numpy(ops.cast(x, "float32"))[0]
