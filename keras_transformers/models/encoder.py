"""Encoder-only models: every token attends to every real token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from keras_transformers.config import TransformerConfig
from keras_transformers.layers import PositionIds, padding_mask
from keras_transformers.models import build


def encoder(
    config: TransformerConfig, *, outputs: Iterable[str] = (), dtype: str | None = None, name: str = "encoder"
) -> keras.Model:
    """An encoder as a plain functional model, without a head.

    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        config: Sizes and options.
        outputs: Optional outputs to add: `"attention_scores"` (the weights of every head), `"all_hidden_states"`
            (the embeddings and the output of every block).
        dtype: Name of a Keras dtype policy; the global one when None.
        name: Of the model.

    Returns:
        A functional model. Inputs: a dict of int32 (B, T) `token_ids`, `segment_ids` (where the configuration has
        segments) and `padding_mask` (non-zero = real token). Outputs: a dict of `hidden_states` (B, T, D) and, on
        request, `attention_scores` (B, L, N, T, T) and `all_hidden_states` (B, L + 1, T, D) for L blocks.

    Raises:
        ValueError: An optional output is unknown.

    Example:

    >>> from keras_transformers.families import bert
    >>> model = encoder(bert(vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=16))
    >>> ids = np.array([[2, 5, 3, 0]])
    >>> outputs = model({"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": ids != 0})
    >>> tuple(outputs["hidden_states"].shape)
    (1, 4, 16)
    """
    outputs = build.check_outputs(outputs, "encoder")
    layers = build.layers(config, outputs, dtype or keras.config.dtype_policy().name)
    inputs = build.token_inputs(config)
    attention_mask = padding_mask(inputs["padding_mask"])
    states, scores = walk(config, layers, inputs["token_ids"], attention_mask, inputs.get("segment_ids"))
    return keras.Model(inputs, build.named_outputs(outputs, states, scores), name=name)


def walk(
    config: TransformerConfig, layers: build.Layers, token_ids: Any, attention_mask: Any, segment_ids: Any = None
) -> tuple[list, dict[str, list]]:
    """Through all layers of an encoder: the hidden states, and the attention weights by name, of every block."""
    hidden_states = build.embed(layers, token_ids, segment_ids)
    places = PositionIds(name="encoder_position_ids")(token_ids)
    inputs = {"attention_mask": attention_mask, **build.block_positions(config, layers, places, places)}
    states, scores = [hidden_states], []
    for index in range(config.num_layers):
        block = layers[f"encoder_block_{index}"]
        hidden_states = block(hidden_states, **inputs)
        if block.return_scores:
            hidden_states, weights = hidden_states
            scores.append(weights)
        states.append(hidden_states)
    states[-1] = build.finish(layers, hidden_states)
    return states, {"attention_scores": scores}
