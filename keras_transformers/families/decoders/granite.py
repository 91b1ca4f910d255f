"""Granite 3: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import LLAMA, llama_config, named_like
from keras_transformers.families.table import with_defaults


def granite(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 4096, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Granite 3: Llama's blocks with factors of embeddings, attention, residual branches and logits.

    The factors make the best learning rate the same for all widths (Yang et al. 2022, https://arxiv.org/abs/2203.03466).
    Epsilon is the released files' (ibm-granite/granite-3.1-2b-base). Paper: Granite Team 2024, "Granite 3.0 Language
    Models".

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            The factors are 1 by default, `attention_scale` too; Granite 3.1 2B has `embedding_scale=12`,
            `residual_scale=0.22`, `logits_divisor=8` and `attention_scale=0.015625`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> granite(49155, 40, 32, 2048, 8192, num_kv_heads=8, embedding_scale=12.0).embedding_scale
    12.0
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("granite", sizes, {"epsilon": 1e-5, "attention_scale": 1.0} | options)


SCALES = {
    "embedding_scale": "embedding_multiplier",
    "residual_scale": "residual_multiplier",
    "attention_scale": "attention_multiplier",
    "logits_divisor": "logits_scaling",
}
# The defaults of `transformers` for options that config.json omits; factors are 1.
DEFAULTS = {"rms_norm_eps": 1e-6, "rope_theta": 10_000.0}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    return with_defaults(values, DEFAULTS)


GRANITE = LLAMA._replace(
    model_type="granite",
    configure=granite,
    fields=LLAMA.fields | SCALES,
    read=_read,
    architectures={"GraniteModel": (), "GraniteForCausalLM": ("lm_head",)},
    tasks={task: name for task, name in named_like("Granite")["tasks"].items() if task != "classification"},
)
