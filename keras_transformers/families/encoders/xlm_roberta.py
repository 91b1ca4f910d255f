"""XLM-RoBERTa and CamemBERT: as RoBERTa's, except the names of classes: the function, and the names of Hugging Face."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.roberta import ROBERTA, named_classes, roberta
from keras_transformers.families.table import Names


def xlm_roberta(*sizes: Any, **options: Any) -> TransformerConfig:
    """Describe XLM-RoBERTa: multilingual RoBERTa, whose checkpoints name other classes.

    Paper: Conneau et al. 2019, https://arxiv.org/abs/1911.02116.

    Args:
        *sizes, **options: As for `roberta`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> xlm_roberta(250_002, num_layers=12, num_heads=12, hidden_dim=768).family
    'xlm-roberta'
    """
    return roberta(*sizes, **options).replace(family="xlm-roberta")


def camembert(*sizes: Any, **options: Any) -> TransformerConfig:
    """Describe CamemBERT: RoBERTa for French, whose checkpoints name other classes.

    Paper: Martin et al. 2019, https://arxiv.org/abs/1911.03894.

    Args:
        *sizes, **options: As for `roberta`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> camembert(32_005, num_layers=12, num_heads=12, hidden_dim=768).position_offset
    2
    """
    return roberta(*sizes, **options).replace(family="camembert")


def _called(model_type: str, configure: Callable[..., TransformerConfig], prefix: str) -> Names:
    """Return RoBERTa's table with classes whose names begin otherwise."""
    weights_of = {prefix + it.removeprefix("Roberta"): weights for it, weights in ROBERTA.weights_of.items()}
    return ROBERTA._replace(
        model_type=model_type,
        configure=configure,
        tokenizer_class=f"{prefix}Tokenizer",
        weights_of=weights_of,
        **named_classes(prefix),
    )


XLM_ROBERTA = _called("xlm-roberta", xlm_roberta, "XLMRoberta")
CAMEMBERT = _called("camembert", camembert, "Camembert")
