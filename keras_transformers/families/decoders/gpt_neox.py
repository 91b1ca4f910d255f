"""GPT-NeoX and Pythia: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, SIZES, Fused, Names


def gpt_neox(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 2048, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe GPT-NeoX or Pythia: a decoder with parallel sublayers and rotary positions in a quarter of each head.

    Papers: Black et al. 2022, https://arxiv.org/abs/2204.06745; Pythia, Biderman et al. 2023,
    https://arxiv.org/abs/2304.01373.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`; some
            models have `parallel=False`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gpt_neox(50304, num_layers=6, num_heads=8, hidden_dim=512).rotary_dim
    16
    """
    shared = {
        "kind": "decoder", "dropout": 0.0, "attention_dropout": 0.0, "activation": "gelu", "epsilon": 1e-5,
        "norm": "layer", "norm_order": "pre", "parallel": True, "positions": "rotary", "partial_rotary_factor": 0.25,
        "tie_embeddings": False, "initializer_range": 0.02,
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return named_config("gpt_neox", sizes, shared | options)


BODY, BLOCK = "gpt_neox.", "gpt_neox.layers.{i}"
THETA, SHARE = "rope_theta", "partial_rotary_factor"
OLDER = {"rotary_emb_base": THETA, "rotary_pct": SHARE}  # the keys before version 5 of `transformers`
# The defaults of `transformers` for options that config.json omits.
IF_MISSING = {"bos_token_id": 0, "eos_token_id": 2}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    older = {new: values[old] for old, new in OLDER.items() if old in values}
    return IF_MISSING | older | values


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | {old: values[new] for old, new in OLDER.items()}


GPT_NEOX = Names(
    model_type="gpt_neox",
    configure=gpt_neox,
    tokenizer_class="GPTNeoXTokenizer",
    prefix=BODY,
    weights={
        "token_embedding": BODY + "embed_in",
        "decoder_block_{i}/attention/query": f"{BLOCK}.attention.query_key_value.query",
        "decoder_block_{i}/attention/key": f"{BLOCK}.attention.query_key_value.key",
        "decoder_block_{i}/attention/value": f"{BLOCK}.attention.query_key_value.value",
        "decoder_block_{i}/attention/output": f"{BLOCK}.attention.dense",
        "decoder_block_{i}/attention_norm": f"{BLOCK}.input_layernorm",
        "decoder_block_{i}/feed_forward/intermediate": f"{BLOCK}.mlp.dense_h_to_4h",
        "decoder_block_{i}/feed_forward/output": f"{BLOCK}.mlp.dense_4h_to_h",
        "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.post_attention_layernorm",
        "final_norm": BODY + "final_layer_norm",
        "lm_head": "embed_out",
        "classifier": "score",
    },
    optional=("embed_out.", "score."),
    redundant=r"gpt_neox\.layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",
    renamed={"lm_head.": "embed_out."},  # in memory since version 5; it still writes the older name
    copies={"embed_out.weight": BODY + "embed_in.weight"},
    architectures={
        "GPTNeoXModel": (),
        "GPTNeoXForCausalLM": ("lm_head",),
        "GPTNeoXForSequenceClassification": ("classifier",),
    },
    tasks={
        "causal_lm": "GPTNeoXForCausalLM",
        "classification": "GPTNeoXForSequenceClassification",
        "sentence_embedding": "GPTNeoXModel",
        "ranking": "GPTNeoXForCausalLM",  # by the logit of a token
    },
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "max_length": "max_position_embeddings",
        "dropout": "hidden_dropout",
        "attention_dropout": "attention_dropout",
        "activation": "hidden_act",
        "epsilon": "layer_norm_eps",
        "parallel": "use_parallel_residual",
        "attention_bias": "attention_bias",
        "initializer_range": "initializer_range",
        "max_wavelength": THETA,
        "rotary_scaling": "rope_scaling",
        "partial_rotary_factor": SHARE,
        "tie_embeddings": "tie_word_embeddings",
        "pad_id": "pad_token_id",
        "bos_id": "bos_token_id",
        "eos_ids": "eos_token_id",
    },
    activations=ACTIVATIONS,
    fixed={},
    equal={},
    required=SIZES,
    fused=(
        Fused(
            r"gpt_neox\.layers\.\d+\.attention\.query_key_value",
            ("query", "key", "value"),
            groups=lambda config: config.num_heads,
        ),
    ),
    read=_read,
    write=_write,
)
