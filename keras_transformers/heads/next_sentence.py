"""BERT's next-sentence prediction."""

from __future__ import annotations

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers.core.dense import Dense, dense_initializer
from keras_transformers.utils.tensor_types import Tensor


def next_sentence_head(config: TransformerConfig, pooled: Tensor, dtype: str | None = None) -> Tensor:
    """Predict whether the second segment follows the first: class 0 = it does, class 1 = it is a random one.

    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        config: Sizes and options.
        pooled: (B, D).
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (B, 2).

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> next_sentence_head(config, keras.Input((16,))).shape
    (None, 2)
    """
    initializer = dense_initializer(config.initializer_range)
    return Dense(2, kernel_initializer=initializer, dtype=dtype, name="next_sentence")(pooled)
