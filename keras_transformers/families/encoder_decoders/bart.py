"""BART and mBART: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.choices import first_position
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoder_decoders import marian
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, Names, after_unused, with_defaults


def bart(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 1024, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe BART: a post-norm encoder and decoder with learned positions and a norm after the embeddings.

    Dropouts are as in the release (fairseq). Paper: Lewis et al. 2019, https://arxiv.org/abs/1910.13461.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`. The decoder begins with the token that ends a text.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> bart(50265, num_layers=6, num_heads=12, hidden_dim=768).decoder_start_id
    2
    """
    facts = {
        "norm_order": "post", "attention_dropout": 0.1, "activation_dropout": 0.1,
        "decoder_start_id": next(iter(options.get("eos_ids", (2,))), None),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bart("bart", sizes, facts | options)


def mbart(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 1024, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe mBART: BART with pre-norm stacks, and embeddings scaled by sqrt(hidden_dim).

    Paper: Liu et al. 2020, https://arxiv.org/abs/2001.08210.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`. The decoder begins with the target language's token: `decoder_start_id`, if it is always one.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> mbart(250027, num_layers=12, num_heads=16, hidden_dim=1024).embedding_norm
    True
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bart("mbart", sizes, {"norm_order": "pre", "attention_dropout": 0.0, "scale_embeddings": True} | options)


def _bart(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {
        "kind": "encoder_decoder", "dropout": 0.1, "activation": "gelu", "epsilon": 1e-5, "norm": "layer",
        "positions": "learned", "initializer_range": 0.02, "embedding_norm": True, "pad_id": 1, "bos_id": 0,
        "eos_ids": (2,),
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)


SIDES = ("encoder", "decoder")
POSITIONS = [f"model.{side}.embed_positions.weight" for side in SIDES]
OFFSET = after_unused(first_position())


def _read(values: dict[str, Any]) -> dict[str, Any]:
    return with_defaults(values, marian.DEFAULTS)


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | {"is_encoder_decoder": True}


def _norms(theirs: str, ours: str) -> dict[str, str]:
    return {f"{side}_{ours}": f"model.{side}.{theirs}" for side in SIDES}


def _fixed(norm_first: bool) -> dict[str, Any]:
    return {
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "normalize_before": norm_first,
        "add_final_layer_norm": norm_first, "normalize_embedding": True, "static_position_embeddings": False,
    }  # fmt: skip


BART = Names(
    model_type="bart",
    configure=bart,
    tokenizer_class="BartTokenizer",
    prefix="model.",
    weights=marian.WEIGHTS
    | _norms("embed_positions", "position_embedding")
    | _norms("layernorm_embedding", "embedding_norm"),
    optional=("lm_head.", "classification_head."),
    redundant=r"model\.(en|de)coder\.version",
    copies=marian.COPIES,
    architectures={"BartModel": (), "BartForConditionalGeneration": ("lm_head", "output_bias")},
    tasks={"seq2seq_lm": "BartForConditionalGeneration"},
    fields=marian.FIELDS | {"bos_id": "bos_token_id"},
    activations=ACTIVATIONS,
    fixed=_fixed(norm_first=False),
    equal=marian.EQUAL,
    required=marian.REQUIRED,
    logits_bias="final_logits_bias",
    reshaped=dict.fromkeys(POSITIONS, OFFSET) | {"final_logits_bias": marian.ONE_ROW},
    read=_read,
    write=_write,
)
MBART = BART._replace(
    model_type="mbart",
    configure=mbart,
    tokenizer_class="MBartTokenizer",
    weights=BART.weights | _norms("layer_norm", "final_norm"),
    architectures={"MBartModel": (), "MBartForConditionalGeneration": ("lm_head", "output_bias")},
    tasks={"seq2seq_lm": "MBartForConditionalGeneration"},
    fixed=_fixed(norm_first=True),
)
