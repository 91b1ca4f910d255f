"""The head for classification and regression of whole texts."""

from __future__ import annotations

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers.core.dense import Dense, dense_initializer
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.utils.tensor_types import Tensor


def classification_head(
    config: TransformerConfig, pooled: Tensor, num_classes: int, dtype: str | None = None
) -> Tensor:
    """Apply dropout, then a dense layer, to one vector per text.

    The same head serves single-label and multi-label classification and regression: only the loss differs. A
    decoder's has no bias, as in `transformers`.

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
    rate = config.dropout if config.classifier_dropout is None else config.classifier_dropout
    dropped = Dropout(rate, dtype=dtype, name="classifier_dropout")(pooled)
    layer = Dense(
        num_classes,
        use_bias=config.kind == "encoder",
        kernel_initializer=dense_initializer(config.initializer_range),
        dtype=dtype,
        name="classifier",
    )
    return layer(dropped)
