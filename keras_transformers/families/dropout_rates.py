"""One rate for all dropouts of a model."""

from __future__ import annotations

from keras_transformers.config.transformer_config import TransformerConfig

ONE_RATE = ("t5",)  # families whose files hold one rate for all dropouts


def with_dropout(config: TransformerConfig, rate: float) -> TransformerConfig:
    """Return a configuration with one rate for all dropouts of the model.

    Args:
        config: Of the model.
        rate: In [0, 1).

    Example:

    >>> from keras_transformers.families import bert
    >>> config = with_dropout(bert(100, num_layers=1, num_heads=2, hidden_dim=8), 0.3)
    >>> config.dropout, config.attention_dropout, config.activation_dropout
    (0.3, 0.3, 0.0)
    """
    has_inner = config.activation_dropout or config.family in ONE_RATE
    inner = {"activation_dropout": rate} if has_inner else {}
    heads = {name: rate for name in ("pooler_dropout", "classifier_dropout") if getattr(config, name)}
    return config.replace(dropout=rate, attention_dropout=rate, **inner, **heads)
