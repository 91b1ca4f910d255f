"""Heads for classification and regression of texts and of tokens."""

from __future__ import annotations

from functools import partial

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.pooling import of_pooled
from keras_transformers.heads.transform import token_states
from keras_transformers.layers.core.dense import Dense, dense_initializer
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.utils.tensor_types import Tensor


def classification_head(
    config: TransformerConfig, pooled: Tensor, num_classes: int, dtype: str | None = None
) -> Tensor:
    """Apply dropout, then a dense layer, to one vector per text.

    The same head serves single-label and multi-label classification and regression: only the loss differs. The
    layer has no bias where it reads the last token, as in `transformers`: in decoders, and in EmbeddingGemma; but it
    has one where all heads begin with the same layers.

    Args:
        config: Sizes and options.
        pooled: (B, D).
        num_classes: Classes, or regression targets.
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (B, num_classes).

    Raises:
        ValueError: `num_classes` is not positive.

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> classification_head(config, keras.Input((16,)), num_classes=3).shape
    (None, 3)
    """
    if num_classes < 1:
        raise ValueError(f"a classifier needs at least one class: received num_classes={num_classes}.")
    if config.kind == "decoder":
        pooled = token_states(config, pooled, dtype)
    rate = config.dropout if config.classifier_dropout is None else config.classifier_dropout
    dropped = Dropout(rate, dtype=dtype, name="classifier_dropout")(pooled)
    reads_all_tokens = config.kind == "encoder" and config.classifier_pooling != "last"
    layer = Dense(
        num_classes,
        use_bias=reads_all_tokens or (config.head_transform == "all" and config.head_bias),
        kernel_initializer=dense_initializer(config.initializer_range),
        dtype=dtype,
        name="classifier",
    )
    return layer(dropped)


def text_classification_head(
    config: TransformerConfig, hidden_states: Tensor, padding_mask: Tensor, num_classes: int, dtype: str | None = None
) -> Tensor:
    """Classify whole texts: the pooler, then `classification_head`.

    Args:
        config: Sizes and options of an encoder.
        hidden_states: (B, T, D).
        padding_mask: (B, T), 0 for padding.
        num_classes: Classes, or regression targets.
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (B, num_classes).

    Raises:
        ValueError: `num_classes` is not positive.

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> text_classification_head(config, keras.Input((None, 16)), keras.Input((None,)), num_classes=3).shape
    (None, 3)
    """
    head = partial(classification_head, config, num_classes=num_classes, dtype=dtype)
    return of_pooled(config, hidden_states, padding_mask, head, dtype)


def token_classification_head(
    config: TransformerConfig, hidden_states: Tensor, num_classes: int, dtype: str | None = None
) -> Tensor:
    """Classify each token: `classification_head` on the hidden states.

    Args:
        config: Sizes and options of an encoder.
        hidden_states: (B, T, D).
        num_classes: Classes.
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (B, T, num_classes).

    Raises:
        ValueError: `num_classes` is not positive.

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> token_classification_head(config, keras.Input((None, 16)), num_classes=3).shape
    (None, None, 3)
    """
    return classification_head(config, token_states(config, hidden_states, dtype), num_classes, dtype)  # (B, T, C)
