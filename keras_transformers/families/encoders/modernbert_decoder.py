"""Ettin's decoders: the function, and the names of Hugging Face; beside ModernBERT, whose table they change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.modernbert import FULL_EVERY, LOCAL_WAVELENGTH, MODERNBERT, windowed
from keras_transformers.families.encoders.pre_norm import released_ids
from keras_transformers.families.layer_types import TYPES
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import Fused
from keras_transformers.utils.number_checks import is_size

WINDOW = 64  # half of the encoder's: a decoder sees one side


def modernbert_decoder(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 8192, *, local_wavelength: float = LOCAL_WAVELENGTH, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe a decoder of Ettin: ModernBERT's blocks, in which a token sees earlier ones only.

    The heads begin with a dense layer, GELU and a norm, and the logits have a bias.
    Paper: Weller et al. 2025, https://arxiv.org/abs/2507.11412.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.
        local_wavelength: As for `modernbert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = modernbert_decoder(50368, num_layers=22, num_heads=12, hidden_dim=768, intermediate_dim=1152)
    >>> [config.block(index).attention_window for index in range(4)]
    [None, 64, 64, None]
    """
    facts: dict[str, Any] = {
        "kind": "decoder", "dropout": 0.0, "attention_dropout": 0.0, "classifier_dropout": 0.0, "activation": "gelu",
        "norm": "layer", "norm_order": "pre", "embedding_norm": True, "use_bias": False, "epsilon": 1e-5,
        "gated": True, "positions": "rotary", "max_wavelength": 160_000.0, "head_transform": "all", "head_bias": False,
        "pooler_activation": "gelu", "output_bias": True,
        **released_ids(vocabulary_size, pad_id=50283, bos_id=50281, eos_id=50282),
    }  # fmt: skip
    if is_size(num_layers):  # if not, the configuration says so
        are_full = [index % FULL_EVERY == 0 for index in range(min(int(num_layers), MOST_BLOCKS))]
        facts["block_options"] = windowed(are_full, WINDOW, local_wavelength)
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return named_config("modernbert-decoder", sizes, facts | options)


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read the blocks as ModernBERT's, with half of its window."""
    values = MODERNBERT.read(values)
    return values | {TYPES: _scaled(values.get(TYPES), lambda window: window // 2)}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    """Write the options; null ids are left out, which `transformers` refuses to read for this family."""
    written = MODERNBERT.write(values | {TYPES: _scaled(values[TYPES], lambda window: window * 2)})
    return {key: value for key, value in written.items() if value is not None or key not in IDS}


IDS = ("pad_token_id", "bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id")


def _scaled(blocks: Any, change: Callable[[int], int]) -> tuple[BlockOptions, ...]:
    """Return block options with other windows."""
    given = make_block_options(blocks or ())
    windows = [None if block.attention_window is None else change(block.attention_window) for block in given]
    return tuple(
        dataclasses.replace(block, attention_window=window) for block, window in zip(given, windows, strict=True)
    )


_BLOCK, _LAYER = "decoder_block_{i}/", "model.layers.{i}."
MODERNBERT_DECODER = MODERNBERT._replace(
    model_type="modernbert-decoder",
    configure=modernbert_decoder,
    weights={
        ours.replace("encoder_block", "decoder_block"): theirs
        for ours, theirs in MODERNBERT.weights.items()
        if not ours.startswith(("masked_lm", "qa_outputs"))
    }
    | {f"{_BLOCK}attention/{part}": f"{_LAYER}attn.{part[0]}_proj" for part in ("query", "key", "value")}
    | {
        "output_transform": "lm_head.dense",
        "output_transform_norm": "lm_head.norm",
        "output_bias/bias": "decoder.bias",
        "lm_head": "decoder",
    },
    optional=("head.", "lm_head.", "decoder.", "classifier."),
    architectures={
        "ModernBertDecoderModel": (),
        "ModernBertDecoderForCausalLM": ("output_transform", "output_transform_norm", "output_bias", "lm_head"),
        "ModernBertDecoderForSequenceClassification": ("pooler", "pooler_norm", "classifier"),
    },
    tasks={
        "causal_lm": "ModernBertDecoderForCausalLM",
        "classification": "ModernBertDecoderForSequenceClassification",
        "sentence_embedding": "ModernBertDecoderModel",
        "ranking": "ModernBertDecoderForCausalLM",  # by the logit of a token
    },
    fields={ours: theirs for ours, theirs in MODERNBERT.fields.items() if ours != "classifier_pooling"}
    | {"output_bias": "decoder_bias", "tie_embeddings": "tie_word_embeddings"},
    fixed={"rope_type": "default"},
    fused=(Fused(r"model\.layers\.\d+\.mlp\.Wi", ("gate", "intermediate")),),
    read=_read,
    write=_write,
)
