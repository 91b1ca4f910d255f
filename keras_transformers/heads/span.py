"""The head of extractive question answering: the first and the last token of an answer."""

from __future__ import annotations

from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.transform import token_states
from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.layers.core.dense import Dense, dense_initializer
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.utils.tensor_types import Tensor


def span_head(
    config: TransformerConfig, hidden_states: Tensor, padding_mask: Tensor, dtype: str | None = None
) -> Tensor:
    """Predict for each token, by a dense layer of two outputs, whether it is the first or the last of the answer.

    Paper: Devlin et al. 2018, section 4.2, https://arxiv.org/abs/1810.04805.

    Args:
        config: Sizes and options.
        hidden_states: (B, T, D).
        padding_mask: (B, T), 0 for padding.
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits, float32 (B, T, 2); `NEVER` for padding.

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> span_head(config, keras.Input((None, 16)), keras.Input((None,))).shape
    (None, None, 2)
    """
    layer = Dense(2, kernel_initializer=dense_initializer(config.initializer_range), dtype=dtype, name="qa_outputs")
    hidden_states = token_states(config, hidden_states, dtype)  # (B, T, D)
    if config.head_transform == "all" and config.classifier_dropout:  # other families have no dropout here
        hidden_states = Dropout(config.classifier_dropout, dtype=dtype, name="classifier_dropout")(hidden_states)
    logits = ops.cast(layer(hidden_states), "float32")  # (B, T, 2)
    return ops.where(ops.expand_dims(ops.not_equal(padding_mask, 0), -1), logits, NEVER)
