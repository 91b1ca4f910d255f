"""OLMo 2: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BLOCK, LLAMA, llama_config, named_like
from keras_transformers.families.table import with_defaults

FACTS = {"epsilon": 1e-6, "max_wavelength": 500_000.0, "norm_order": "res_post", "head_norm": "joint_rms"}


def olmo2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 4096, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe OLMo 2: Llama's layers, with norms of the outputs of sublayers, and of all queries and all keys.

    Epsilon and the base of wavelengths are the released files' (allenai/OLMo-2-0425-1B).
    Paper: OLMo Team 2024, https://arxiv.org/abs/2501.00656.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> olmo2(100352, num_layers=16, num_heads=16, hidden_dim=2048, intermediate_dim=8192).norm_order
    'res_post'
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("olmo2", sizes, FACTS | options)


# The defaults of `transformers` for options that config.json omits: not what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-5, "rope_theta": 10_000.0}
NORMS = {
    "decoder_block_{i}/attention/query_norm": f"{BLOCK}.self_attn.q_norm",
    "decoder_block_{i}/attention/key_norm": f"{BLOCK}.self_attn.k_norm",
    "decoder_block_{i}/attention_norm": f"{BLOCK}.post_attention_layernorm",
    "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.post_feedforward_layernorm",
}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    return with_defaults(values, DEFAULTS)


OLMO2 = LLAMA._replace(
    model_type="olmo2",
    configure=olmo2,
    weights=LLAMA.weights | NORMS,
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours != "feed_forward_bias"},
    read=_read,
    **named_like("Olmo2"),
)
