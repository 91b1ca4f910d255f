"""Names of BART and mBART."""

from __future__ import annotations

from typing import Any

from keras_transformers import families
from keras_transformers.checkpoints.names import marian
from keras_transformers.checkpoints.names.table import ACTIVATIONS, Names, after_unused, with_defaults
from keras_transformers.config.choices import first_position

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
    configure=families.bart,
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
    configure=families.mbart,
    weights=BART.weights | _norms("layer_norm", "final_norm"),
    architectures={"MBartModel": (), "MBartForConditionalGeneration": ("lm_head", "output_bias")},
    tasks={"seq2seq_lm": "MBartForConditionalGeneration"},
    fixed=_fixed(norm_first=True),
)
