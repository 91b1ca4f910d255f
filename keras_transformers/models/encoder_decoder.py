"""Encoder-decoder models: a decoder's token attends to itself, to earlier ones, and to the encoder's."""

from __future__ import annotations

from collections.abc import Iterable

import keras

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.models import build
from keras_transformers.models.decoder import whole
from keras_transformers.models.encoder import encode_source


def encoder_decoder(
    config: TransformerConfig, *, outputs: Iterable[str] = (), dtype: str | None = None, name: str = "encoder_decoder"
) -> keras.Model:
    """Build an encoder and a decoder as one functional model without a head: whole sequences, as in training.

    `models.decoder.prefill` and `step` build the models for generation over the same layers: the encoder runs once, and
    the decoder's keys and values from it are part of the cache.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; T5, https://arxiv.org/abs/1910.10683; BART,
    https://arxiv.org/abs/1910.13461.

    Args:
        config: Sizes and options.
        outputs: Optional outputs to add: `"attention_scores"` and `"all_hidden_states"` of the decoder,
            `"cross_attention_scores"`, `"encoder_attention_scores"`, `"all_encoder_hidden_states"`.
        dtype: Name of a Keras dtype policy; the global one when None.
        name: Name of the model.

    Returns:
        A functional model. Inputs: a dict of int32 (B, S) `encoder_token_ids` and `encoder_padding_mask` (non-zero =
        real token), and (B, T) `token_ids` and `padding_mask`, as in `models.decoder`; the first token is
        `config.decoder_start_id`. Outputs: a dict of `hidden_states` (B, T, D), `encoder_hidden_states` (B, S, D) and,
        on request for L blocks, `attention_scores` (B, L, N, T, T), `cross_attention_scores` (B, L, N, T, S),
        `encoder_attention_scores` (B, L, N, S, S), `all_hidden_states` (B, L + 1, T, D) and
        `all_encoder_hidden_states` (B, L + 1, S, D).

    Raises:
        ValueError: An optional output is unknown.

    Example:

    >>> from keras_transformers.families import transformer
    >>> model = encoder_decoder(transformer(vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=16))
    >>> source, target = np.array([[5, 3, 2, 0]]), np.array([[0, 7, 4]])
    >>> inputs = {"encoder_token_ids": source, "encoder_padding_mask": source != 0}
    >>> outputs = model(inputs | {"token_ids": target, "padding_mask": np.ones_like(target)})
    >>> tuple(outputs["hidden_states"].shape)
    (1, 3, 16)
    """
    outputs = build.check_outputs(outputs, config)
    layers = build.layers(config, outputs, dtype or keras.config.dtype_policy().name)
    inputs = build.token_inputs(config)

    encoder_states, encoder_scores, encoder_inputs = encode_source(config, layers, inputs)
    states, _, scores = whole(config, layers, inputs, **encoder_inputs)

    named = build.named_outputs(outputs, encoder_states, encoder_scores, prefix="encoder_")
    return keras.Model(inputs, named | build.named_outputs(outputs, states, scores), name=name)
