"""Families of decoders."""

from __future__ import annotations

import math
from typing import Any

from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.utils.number_checks import is_size


def gpt1(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe GPT-1: a post-norm decoder with learned positions.

    GELU by its tanh approximation, dropout 0.1 and normal weights of 0.02 as in the release code
    (openai/finetune-transformer-lm). Paper: Radford et al. 2018, https://openai.com/index/language-unsupervised.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gpt1(40478, num_layers=12, num_heads=12, hidden_dim=768).norm_order
    'post'
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, None, max_length)
    return _gpt("openai-gpt", sizes, {"norm_order": "post", "embedding_norm": False} | options)


def gpt2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, max_length: int = 1024, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe GPT-2: a pre-norm decoder with learned positions.

    The weights of the layers that end in the residual stream start smaller, by 1 / sqrt(2 num_layers).
    Paper: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gpt2(50257, num_layers=12, num_heads=12, hidden_dim=768).norm_order
    'pre'
    """
    facts: dict[str, Any] = {"norm_order": "pre"}
    if is_size(num_layers):  # if not, the configuration says so
        facts["output_initializer_range"] = 0.02 / math.sqrt(2 * min(int(num_layers), MOST_BLOCKS))
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, None, max_length)
    return _gpt("gpt2", sizes, facts | options)


def _gpt(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {
        "kind": "decoder", "dropout": 0.1, "attention_dropout": 0.1, "activation": "gelu_tanh", "epsilon": 1e-5,
        "norm": "layer", "positions": "learned", "initializer_range": 0.02,
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)


def llama(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 2048, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Llama or SmolLM2: a pre-norm decoder with RMS norms, rotary positions and gated feed-forward layers.

    Paper: Touvron et al. 2023, https://arxiv.org/abs/2302.13971.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.
            Later versions have fewer heads of keys and values (`num_kv_heads`) and other `max_wavelength`s.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> llama(49152, num_layers=30, num_heads=9, num_kv_heads=3, hidden_dim=576, intermediate_dim=1536).head_dim
    64
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _llama("llama", sizes, {"epsilon": 1e-6} | options)


def mistral(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 32_768, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Mistral, or E5-Mistral: Llama's blocks, in version 0.1 with a window.

    The epsilon is the released files' (mistralai/Mistral-7B-v0.1).
    Paper: Jiang et al. 2023, https://arxiv.org/abs/2310.06825.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Version 0.1 has `block_options=[{"attention_window": 4096}]`; later ones a `max_wavelength` of 1,000,000.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = mistral(32000, 32, 32, 4096, 14336, num_kv_heads=8, block_options=[{"attention_window": 4096}])
    >>> config.block(31, "decoder").attention_window
    4096
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _llama("mistral", sizes, {"epsilon": 1e-5} | options)


def _llama(family: str, sizes: tuple, options: dict[str, Any]) -> TransformerConfig:
    shared = {
        "kind": "decoder", "dropout": 0.0, "attention_dropout": 0.0, "activation": "silu", "gated": True,
        "norm": "rms", "norm_order": "pre", "positions": "rotary", "use_bias": False, "tie_embeddings": False,
        "initializer_range": 0.02,
    }  # fmt: skip
    return named_config(family, sizes, shared | options)
