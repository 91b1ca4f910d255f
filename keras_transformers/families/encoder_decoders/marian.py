"""Marian; BART shares most of them: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, SIZES, Names, Reshaped, with_defaults


def marian(
    vocabulary_size: int, num_layers: int = 6, num_heads: int = 8, hidden_dim: int = 512,
    intermediate_dim: int | None = None, max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Marian, as in OPUS-MT: a Transformer with sines before cosines, and a bias of the logits.

    The last token id of both sides is padding and the decoder's first token; the first token id ends a text. The
    initialisers are as in `transformers`. Paper: Junczys-Dowmunt et al. 2018, https://arxiv.org/abs/1804.00344.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`; with `encoder_vocabulary_size` the stacks have separate vocabularies.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> marian(58101).pad_id
    58100
    """
    pad_id = options.get("pad_id", min(vocabulary_size, options.get("encoder_vocabulary_size") or vocabulary_size) - 1)
    facts = {
        "activation": "silu", "position_layout": "halves", "output_bias": True,
        "initializer_range": 0.02, "pad_id": pad_id, "decoder_start_id": pad_id, "eos_ids": (0,),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return sinusoidal_config("marian", sizes, facts | options)


def sinusoidal_config(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    """Build the configuration of a family of post-norm stacks with sinusoidal positions.

    Args:
        family: Name of the family.
        sizes: As in `named_config`.
        facts: Other fields of `TransformerConfig`, which replace the shared ones.

    Example:

    >>> sinusoidal_config("marian", (100, 2, 2, 16, None, 512), {}).positions
    'sinusoidal'
    """
    shared = {
        "kind": "encoder_decoder", "dropout": 0.1, "attention_dropout": 0.0, "epsilon": 1e-5, "norm": "layer",
        "norm_order": "post", "positions": "sinusoidal", "scale_embeddings": True, "embedding_norm": False,
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)


ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}


def _block_weights(side: str) -> dict[str, str]:
    ours, theirs = f"{side}_block_{{i}}", f"model.{side}.layers.{{i}}"
    weights = {
        **{f"attention/{part}": f"self_attn.{name}" for part, name in ATTENTION.items()},
        "attention_norm": "self_attn_layer_norm",
        "feed_forward/intermediate": "fc1",
        "feed_forward/output": "fc2",
        "feed_forward_norm": "final_layer_norm",
    }
    if side == "decoder":
        weights |= {f"cross_attention/{part}": f"encoder_attn.{name}" for part, name in ATTENTION.items()}
        weights |= {"cross_attention_norm": "encoder_attn_layer_norm"}
    return {f"{ours}/{layer}": f"{theirs}.{name}" for layer, name in weights.items()}


WEIGHTS = {
    "token_embedding": "model.shared",
    **_block_weights("encoder"),
    **_block_weights("decoder"),
    "lm_head": "lm_head",
}
COPIES = {
    "model.encoder.embed_tokens.weight": "model.shared.weight",
    "model.decoder.embed_tokens.weight": "model.shared.weight",
    "lm_head.weight": "model.shared.weight",
}
FIELDS = {
    "vocabulary_size": "vocab_size",
    "num_layers": "encoder_layers",
    "num_decoder_layers": "decoder_layers",
    "num_heads": "encoder_attention_heads",
    "hidden_dim": "d_model",
    "intermediate_dim": "encoder_ffn_dim",
    "max_length": "max_position_embeddings",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "activation_dropout",
    "activation": "activation_function",
    "scale_embeddings": "scale_embedding",
    "initializer_range": "init_std",
    "tie_embeddings": "tie_word_embeddings",
    "pad_id": "pad_token_id",
    "eos_ids": "eos_token_id",
    "decoder_start_id": "decoder_start_token_id",
}
REQUIRED = (*SIZES, "num_decoder_layers")
EQUAL = {"decoder_attention_heads": "encoder_attention_heads", "decoder_ffn_dim": "encoder_ffn_dim"}
ONE_ROW = Reshaped(read=lambda array: array[0], write=lambda array: array[None])


# The defaults of `transformers` for options that config.json omits.
DEFAULTS = {
    "activation_function": "gelu",
    "scale_embedding": False,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Split the vocabulary sizes: their `vocab_size` is the encoder's, ours the decoder's."""
    values = with_defaults(values, DEFAULTS)
    encoder, shared = values.get("vocab_size"), values.get("share_encoder_decoder_embeddings", True)
    decoder = encoder if shared else values.get("decoder_vocab_size") or encoder
    return values | {"vocab_size": decoder, "encoder_vocab_size": None if shared else encoder}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    decoder = values["vocab_size"]
    values = values | {"decoder_vocab_size": decoder, "share_encoder_decoder_embeddings": True}
    if encoder := values.pop("encoder_vocab_size"):
        values |= {"vocab_size": encoder, "share_encoder_decoder_embeddings": False}
    return values | {"is_encoder_decoder": True, "static_position_embeddings": True}


_SHARED = Names(
    model_type="marian",
    configure=marian,
    prefix="model.",
    weights=WEIGHTS | {"output_bias/bias": "final_logits_bias"},
    optional=("lm_head.", "final_logits_bias"),
    redundant=r"model\.(en|de)coder\.embed_positions\.weight",
    copies=COPIES,
    architectures={"MarianModel": (), "MarianMTModel": ("lm_head", "output_bias")},
    tasks={"seq2seq_lm": "MarianMTModel"},
    fields=FIELDS | {"encoder_vocabulary_size": "encoder_vocab_size"},
    activations=ACTIVATIONS,
    fixed={
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "normalize_before": False, "normalize_embedding": False,
        "add_final_layer_norm": False, "static_position_embeddings": True,
    },
    equal=EQUAL,
    required=REQUIRED,
    logits_bias="final_logits_bias",
    reshaped={"final_logits_bias": ONE_ROW},
    read=_read,
    write=_write,
)  # fmt: skip
_SEPARATE = _SHARED._replace(
    weights=_SHARED.weights
    | {
        "token_embedding": "model.decoder.embed_tokens",
        "encoder_token_embedding": "model.encoder.embed_tokens",
    },
    copies={"lm_head.weight": "model.decoder.embed_tokens.weight"},
)
MARIAN = _SHARED._replace(variants={"encoder_vocabulary_size": _SEPARATE})
