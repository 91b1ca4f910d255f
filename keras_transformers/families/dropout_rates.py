"""Rates of the dropouts of a model: one for all, and another one for attention."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig

ONE_RATE = ("t5",)  # families whose files hold one rate for all dropouts


def with_dropout(
    config: TransformerConfig, rate: float | None = None, attention_rate: float | None = None
) -> TransformerConfig:
    """Return a configuration with one rate for all dropouts of the model, or another one for attention weights.

    Args:
        config: Configuration of the model.
        rate: Rate of all dropouts, in [0, 1); as in `config` when None.
        attention_rate: On the attention weights, in [0, 1); `rate` when None.

    Raises:
        ValueError: A rate is not in [0, 1), or the files of the family hold one rate and two are given.

    Example:

    >>> from keras_transformers.families import bert
    >>> config = with_dropout(bert(100, num_layers=1, num_heads=2, hidden_dim=8), 0.3, attention_rate=0.0)
    >>> config.dropout, config.attention_dropout, config.activation_dropout
    (0.3, 0.0, 0.0)
    """
    rates: dict[str, Any] = {}
    if rate is not None:
        inner = ["activation_dropout"] if config.activation_dropout or config.family in ONE_RATE else []
        heads = [
            name for name in ("embedding_dropout", "pooler_dropout", "classifier_dropout") if getattr(config, name)
        ]
        rates = dict.fromkeys(["dropout", "attention_dropout", *inner, *heads], rate)
    if attention_rate is not None:
        rates["attention_dropout"] = attention_rate
    changed = config.replace(**rates)
    if changed.family in ONE_RATE and changed.attention_dropout != changed.dropout:
        raise ValueError(
            f"files of the family {changed.family} hold one rate for all dropouts: received attention_dropout="
            f"{changed.attention_dropout} beside dropout={changed.dropout}. Give dropout={changed.attention_dropout}, "
            "too."
        )
    return changed
