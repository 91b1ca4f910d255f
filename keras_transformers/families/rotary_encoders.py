"""Families of post-norm encoders with rotary positions and gated layers."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.choices import PAD_ID
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders import bert


def nomic_bert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 2048, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe NomicBERT: BERT with rotary positions, gated layers, and biases in the norms alone.

    The base of the rotary positions, and 2,048 tokens, are those that the released models were trained with.
    Paper: Nussbaum et al. 2024, https://arxiv.org/abs/2402.01613.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> nomic_bert(30528, num_layers=12, num_heads=12, hidden_dim=768).positions
    'rotary'
    """
    facts: dict[str, Any] = {
        "positions": "rotary", "max_wavelength": 1000.0, "gated": True, "activation": "silu",
        "use_bias": False, "norm_bias": True, "dropout": 0.0, "attention_dropout": 0.0,
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert(*sizes, **(facts | options)).replace(family="nomic_bert")


def gte(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 8192, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe GTE: BERT with rotary positions, and gated layers whose first two projections have no biases.

    `activation_dropout` equals `dropout`, and attention weights have no dropout. Released models that read longer texts
    than they were trained with have the rotary positions of `ntk_scaling`.
    Paper: Zhang et al. 2024, https://arxiv.org/abs/2407.19669.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gte(30528, num_layers=12, num_heads=12, hidden_dim=768).positions
    'rotary'
    """
    facts = {
        "num_segments": 1, "pad_id": PAD_ID, "positions": "rotary", "max_wavelength": 160_000.0, "gated": True,
        "intermediate_bias": False, "attention_dropout": 0.0, "activation_dropout": options.get("dropout", 0.1),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert(*sizes, **(facts | options)).replace(family="gte")


def ntk_scaling(base: float, factor: float, head_dim: int) -> dict[str, Any]:
    """Return the rotary positions of a model that reads texts `factor` times as long as those it was trained with.

    The shortest wavelength grows by `factor ** (2 / head_dim)` and the longest by `factor` (formula 6 of
    https://kexue.fm/archives/9706).

    Args:
        base: `max_wavelength` of the training.
        factor: 1 changes nothing.
        head_dim: Width of a head.

    Returns:
        Options of a family's function: `max_wavelength` and `rotary_scaling_factor`.

    Example:

    >>> ntk_scaling(500_000.0, factor=4.0, head_dim=4)
    {'max_wavelength': 2000000.0, 'rotary_scaling_factor': 2.0}
    """
    return {"max_wavelength": base * factor, "rotary_scaling_factor": factor ** (2 / head_dim)}
