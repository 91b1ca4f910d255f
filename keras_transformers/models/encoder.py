"""Encoder-only models, in which a token attends to all tokens that are not padding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import keras

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import PositionIds, padding_mask
from keras_transformers.models import build
from keras_transformers.models.block_inputs import block_inputs
from keras_transformers.utils.tensor_types import Tensor


def encoder(
    config: TransformerConfig, *, outputs: Iterable[str] = (), dtype: str | None = None, name: str = "encoder"
) -> keras.Model:
    """Build an encoder as a functional model without a head.

    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        config: Sizes and options.
        outputs: Optional outputs to add: `"attention_scores"` (the weights of every head), `"all_hidden_states"`
            (the embeddings and the output of every block).
        dtype: Name of a Keras dtype policy; the global one when None.
        name: Name of the model.

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
    outputs = build.check_outputs(outputs, config)
    layers = build.layers(config, outputs, dtype or keras.config.dtype_policy().name)
    inputs = build.token_inputs(config)

    attention_mask = padding_mask(inputs["padding_mask"])  # (B, 1, T)
    states, scores = walk(config, layers, inputs["token_ids"], attention_mask, inputs.get("segment_ids"))
    return keras.Model(inputs, build.named_outputs(outputs, states, scores), name=name)


def walk(
    config: TransformerConfig,
    layers: build.Layers,
    token_ids: Tensor,
    attention_mask: Tensor,
    segment_ids: Tensor | None = None,
) -> tuple[list, dict[str, list]]:
    """Pass token ids through an encoder; return hidden states and, by name, attention weights of every block."""
    hidden_states = build.embed(layers, token_ids, segment_ids)  # (B, T, D)
    positions = PositionIds(name="encoder_position_ids")(token_ids)  # (1, T)
    inputs = block_inputs(config, layers, "encoder", positions, positions, attention_mask)

    states, scores = [hidden_states], []
    for index, block_input in enumerate(inputs):
        block = layers[f"encoder_block_{config.shared_block(index)}"]
        hidden_states = block(hidden_states, **block_input)  # (B, T, D)
        if block.return_scores:
            hidden_states, weights = hidden_states  # (B, T, D), (B, N, T, T)
            scores.append(weights)
        states.append(hidden_states)

    states[-1] = build.finish(layers, hidden_states)
    return states, {"attention_scores": scores}


def encode_source(
    config: TransformerConfig, layers: build.Layers, inputs: Mapping[str, Tensor]
) -> tuple[list, dict[str, list], dict[str, Tensor]]:
    """Pass the source through the encoder beside a decoder.

    Args:
        config: Configuration of an encoder-decoder.
        layers: All layers of the model, by name.
        inputs: `encoder_token_ids` and `encoder_padding_mask`, each int32 (B, S).

    Returns:
        What `walk` returns, and the decoder blocks' inputs from the encoder: `context` (B, S, D) and
        `encoder_attention_mask`, boolean (B, 1, S).
    """
    attention_mask = padding_mask(inputs["encoder_padding_mask"])  # (B, 1, S)
    states, scores = walk(config, build.stack(layers, "encoder"), inputs["encoder_token_ids"], attention_mask)
    return states, scores, {"context": states[-1], "encoder_attention_mask": attention_mask}
