"""Llama and models of the same architecture: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, Names


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
    return llama_config("llama", sizes, {"epsilon": 1e-6} | options)


def llama_config(family: str, sizes: tuple, options: dict[str, Any]) -> TransformerConfig:
    """Build the configuration of a family whose decoder is Llama's but for some options.

    Args:
        family: Name of the family.
        sizes: As in `named_config`.
        options: Other fields of `TransformerConfig`, which replace the shared ones.

    Example:

    >>> llama_config("llama", (100, 2, 2, 16, 32, 512), {}).norm
    'rms'
    """
    shared = {
        "kind": "decoder", "dropout": 0.0, "attention_dropout": 0.0, "activation": "silu", "gated": True,
        "norm": "rms", "norm_order": "pre", "positions": "rotary", "use_bias": False, "tie_embeddings": False,
        "initializer_range": 0.02,
    }  # fmt: skip
    return named_config(family, sizes, shared | options)


BLOCK = "model.layers.{i}"
BIASES = {"attention_bias": "attention_bias", "feed_forward_bias": "mlp_bias"}

LLAMA = Names(
    model_type="llama",
    configure=llama,
    prefix="model.",
    weights={
        "token_embedding": "model.embed_tokens",
        "decoder_block_{i}/attention/query": f"{BLOCK}.self_attn.q_proj",
        "decoder_block_{i}/attention/key": f"{BLOCK}.self_attn.k_proj",
        "decoder_block_{i}/attention/value": f"{BLOCK}.self_attn.v_proj",
        "decoder_block_{i}/attention/output": f"{BLOCK}.self_attn.o_proj",
        "decoder_block_{i}/attention_norm": f"{BLOCK}.input_layernorm",
        "decoder_block_{i}/feed_forward/gate": f"{BLOCK}.mlp.gate_proj",
        "decoder_block_{i}/feed_forward/intermediate": f"{BLOCK}.mlp.up_proj",
        "decoder_block_{i}/feed_forward/output": f"{BLOCK}.mlp.down_proj",
        "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.post_attention_layernorm",
        "final_norm": "model.norm",
        "lm_head": "lm_head",
        "classifier": "score",
    },
    optional=("lm_head.", "score."),
    redundant=r"model\.(layers\.\d+\.self_attn\.)?rotary_emb\.(inv_freq|original_inv_freq|cos_cached|sin_cached)",
    copies={"lm_head.weight": "model.embed_tokens.weight"},
    architectures={
        "LlamaModel": (),
        "LlamaForCausalLM": ("lm_head",),
        "LlamaForSequenceClassification": ("classifier",),
    },
    tasks={
        "causal_lm": "LlamaForCausalLM",
        "classification": "LlamaForSequenceClassification",
        "sentence_embedding": "LlamaModel",
        "ranking": "LlamaForCausalLM",  # by the logit of a token
    },
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "num_kv_heads": "num_key_value_heads",
        "head_dim": "head_dim",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "max_length": "max_position_embeddings",
        "attention_dropout": "attention_dropout",
        "activation": "hidden_act",
        "epsilon": "rms_norm_eps",
        **BIASES,
        "initializer_range": "initializer_range",
        "max_wavelength": "rope_theta",
        "rotary_scaling": "rope_scaling",
        "tie_embeddings": "tie_word_embeddings",
        "pad_id": "pad_token_id",
        "bos_id": "bos_token_id",
        "eos_ids": "eos_token_id",
    },
    activations=ACTIVATIONS,
    fixed={"partial_rotary_factor": 1.0},
    equal={},
)
