"""Facts that pre-norm encoders with rotary positions and gated feed-forward layers share."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.utils.number_checks import is_size


def released_ids(vocabulary_size: Any, pad_id: int, bos_id: int, eos_id: int) -> dict[str, Any]:
    """Return ids of special tokens, if the vocabulary has them: a smaller one is the user's own."""
    if not is_size(vocabulary_size) or vocabulary_size <= max(pad_id, bos_id, eos_id):
        return {}
    return {"pad_id": pad_id, "bos_id": bos_id, "eos_ids": (eos_id,)}


def pre_norm_config(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    """Build the configuration of a family of pre-norm encoders with rotary positions.

    Args:
        family: Name of the family.
        sizes: As in `named_config`.
        facts: Other fields of `TransformerConfig`, which replace the shared ones.

    Example:

    >>> pre_norm_config("modernbert", (100, 2, 2, 16, 32, 512), {}).norm_order
    'pre'
    """
    shared = {"norm_order": "pre", "positions": "rotary", "gated": True, "initializer_range": 0.02,
              "pooler_activation": "gelu"}  # fmt: skip
    return named_config(family, sizes, shared | facts)
