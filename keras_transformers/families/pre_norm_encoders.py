"""Families of encoders with pre-norm blocks, rotary positions and gated feed-forward layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.utils.number_checks import is_size

FULL_EVERY, WINDOW, LOCAL_WAVELENGTH = 3, 128, 10_000.0  # ModernBERT's, and the defaults of `transformers`


def modernbert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 8192, *, local_wavelength: float = LOCAL_WAVELENGTH, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe ModernBERT, Ettin or mmBERT: a pre-norm encoder whose blocks see windows, but for each third one.

    No biases, a norm after the embeddings in place of the first block's, and two bases of rotary positions. Every head
    begins with a dense layer, GELU and a norm, and a classifier reads the mean of the tokens, as in the released files
    (AnswerDotAI/ModernBERT). In a vocabulary of the released size or more, the special tokens have the released ids.
    Papers: Warner et al. 2024, https://arxiv.org/abs/2412.13663; Ettin: Weller et al. 2025,
    https://arxiv.org/abs/2507.11412; mmBERT: Marone et al. 2025, https://arxiv.org/abs/2509.06888.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.
        local_wavelength: Base of the wavelengths in blocks that see windows; 160,000 in Ettin and mmBERT, as in blocks
            that see all.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = modernbert(50368, num_layers=22, num_heads=12, hidden_dim=768, intermediate_dim=1152)
    >>> [config.block(index).attention_window for index in range(4)]
    [None, 128, 128, None]
    """
    facts: dict[str, Any] = {
        "dropout": 0.0, "attention_dropout": 0.0, "classifier_dropout": 0.0, "activation": "gelu", "norm": "layer",
        "embedding_norm": True, "use_bias": False, "epsilon": 1e-5, "max_wavelength": 160_000.0,
        "classifier_pooling": "mean", "head_transform": "all", "head_bias": False,
        **_released_ids(vocabulary_size, pad_id=50283, bos_id=50281, eos_id=50282),
    }  # fmt: skip
    if is_size(num_layers):  # if not, the configuration says so
        num_blocks = min(int(num_layers), MOST_BLOCKS)
        are_full = [index % FULL_EVERY == 0 for index in range(num_blocks)]
        facts["block_options"] = windowed(are_full, local_wavelength=local_wavelength)
        facts["output_initializer_range"] = 0.02 / math.sqrt(2 * num_blocks)
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _pre_norm("modernbert", sizes, facts | options)


def windowed(
    are_full: Sequence[bool], window: int = WINDOW, local_wavelength: float = LOCAL_WAVELENGTH
) -> tuple[dict[str, Any], ...]:
    """Return the `block_options` of ModernBERT: the first block has no norm before its attention.

    Args:
        are_full: Whether each block sees all tokens.
        window: Size of the window of the others, in tokens.
        local_wavelength: As for `modernbert`.

    Example:

    >>> windowed([True, False], window=8)[1]
    {'attention_window': 8, 'max_wavelength': 10000.0, 'attention_norm': True}
    """
    local = {"attention_window": window, "max_wavelength": local_wavelength}
    return tuple({**({} if full else local), "attention_norm": index > 0} for index, full in enumerate(are_full))


def eurobert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 8192, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe EuroBERT: Llama's blocks in an encoder, whose classifier takes the mean of the logits of all tokens.

    The masked LM is an output layer alone. The base of the rotary positions, the epsilon and, in a vocabulary of the
    released size or more, the ids of special tokens are those of the released files.
    Paper: Boizard et al. 2025, https://arxiv.org/abs/2503.05500.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> eurobert(128_256, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=3072).classifier_pooling
    'late'
    """
    facts = {
        "dropout": 0.0, "attention_dropout": 0.0, "activation": "silu", "norm": "rms", "use_bias": False,
        "epsilon": 1e-5, "max_wavelength": 250_000.0, "tie_embeddings": False, "classifier_pooling": "late",
        "head_transform": "none", **_released_ids(vocabulary_size, pad_id=128_001, bos_id=128_000, eos_id=128_001),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _pre_norm("eurobert", sizes, facts | options)


def _released_ids(vocabulary_size: Any, pad_id: int, bos_id: int, eos_id: int) -> dict[str, Any]:
    """Return ids of special tokens, if the vocabulary has them: a smaller one is the user's own."""
    if not is_size(vocabulary_size) or vocabulary_size <= max(pad_id, bos_id, eos_id):
        return {}
    return {"pad_id": pad_id, "bos_id": bos_id, "eos_ids": (eos_id,)}


def _pre_norm(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {"norm_order": "pre", "positions": "rotary", "gated": True, "initializer_range": 0.02,
              "pooler_activation": "gelu"}  # fmt: skip
    return named_config(family, sizes, shared | facts)
