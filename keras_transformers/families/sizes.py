"""The arguments that the families' functions share, and their conversion to a configuration."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig

SIZES = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim", "max_length")


def named_config(family: str, sizes: tuple, options: dict[str, Any]) -> TransformerConfig:
    """Build the configuration of a family.

    Args:
        family: Name of the family.
        sizes: Values of `SIZES`, in this order; `intermediate_dim` is `4 * hidden_dim` when None.
        options: Other fields of `TransformerConfig`; they override the sizes.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> named_config("gpt2", (100, 2, 2, 16, None, 512), {"kind": "decoder"}).intermediate_dim
    64
    """
    values = dict(zip(SIZES, sizes, strict=True)) | options
    if values["intermediate_dim"] is None:
        values["intermediate_dim"] = 4 * values["hidden_dim"]
    return TransformerConfig(family=family, **values)
