"""The masked language model's head."""

from __future__ import annotations

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.language_model import OutputBias, language_model_head
from keras_transformers.heads.transform import transform
from keras_transformers.layers import TokenEmbedding
from keras_transformers.layers.core.gather import GatherTokens
from keras_transformers.utils.tensor_types import Tensor


def masked_lm_head(
    config: TransformerConfig, embedding: TokenEmbedding, hidden_states: Tensor, mask_positions: Tensor,
    dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Predict the tokens at some positions: dense, activation, norm, then the tied output projection with a bias.

    With `head_transform="none"` it is a language model's head, without a bias. Only these positions are computed, as
    the projection on the vocabulary is the most expensive part.
    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        config: Sizes and options.
        embedding: The token embedding of the model, whose table is the projection.
        hidden_states: (B, T, D).
        mask_positions: int32 (B, M), indices in T; unused ones may hold any valid index.
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (B, M, V).

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> model = encoder(config)
    >>> positions = keras.Input((None,), dtype="int32")
    >>> masked_lm_head(config, model.get_layer("token_embedding"), model.output["hidden_states"], positions).shape
    (None, None, 100)
    """
    gathered = GatherTokens(dtype=dtype)(hidden_states, positions=mask_positions)  # (B, M, D)
    return token_logits(config, embedding, gathered, dtype)


def token_logits(
    config: TransformerConfig, embedding: TokenEmbedding, hidden_states: Tensor, dtype: str | None = None
) -> Tensor:
    """Return the logits (B, T, V) of the masked language model's head at all positions: see `masked_lm_head`."""
    if config.head_transform == "none":
        return language_model_head(config, embedding, hidden_states, dtype)
    activation = config.pooler_activation if config.head_transform == "all" else config.activation
    normed = transform(
        config, hidden_states, "masked_lm_dense", config.embedding_dim or config.hidden_dim, activation,
        norm_name="masked_lm_norm", dtype=dtype,
    )  # (B, T, D), or the width of the embeddings  # fmt: skip
    return OutputBias(dtype=dtype, name="masked_lm_bias")(embedding(normed, reverse=True))
