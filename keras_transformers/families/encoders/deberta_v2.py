"""DeBERTa-v2 and DeBERTa-v3: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT, bert_config
from keras_transformers.families.encoders.roberta import named_classes
from keras_transformers.families.table import ACTIVATIONS, reworded, with_defaults
from keras_transformers.utils.untrusted import shown


def deberta_v2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe DeBERTa-v3, and DeBERTa-v2 without convolution: BERT with disentangled attention.

    The defaults are as in the released checkpoints of DeBERTa-v3 (microsoft/DeBERTa), which have no segments. A
    classifier's first layer has GELU. Papers: He et al. 2020, https://arxiv.org/abs/2006.03654; version 3: He et al.
    2021, https://arxiv.org/abs/2111.09543.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Tokens of a text, and the first distance that shares its vector with all longer ones; longer texts
            are possible.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> deberta_v2(128_100, num_layers=12, num_heads=12, hidden_dim=768).positions
    'disentangled'
    """
    facts = {"positions": "disentangled", "position_buckets": 256, "epsilon": 1e-7, "pooler_activation": "gelu"}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert_config("deberta-v2", sizes, facts | options)


BODY, HEAD, OLDER_HEAD = "deberta.", "cls.predictions.", "lm_predictions.lm_head."
DISTANCE, WITH_TABLE, POOLER = "max_relative_positions", "position_biased_input", "pooler_hidden_act"
HEAD_DIM = "attention_head_size"
WORDS = {POOLER: ACTIVATIONS}
POSITIONS: dict[bool, Any] = {False: "disentangled", True: ("learned", "disentangled")}
# The defaults of `transformers` for options that config.json omits: DeBERTa-v3's files hold others.
DEFAULTS: dict[str, Any] = {
    "layer_norm_eps": 1e-7, "relative_attention": False, "share_att_key": False, "norm_rel_ebd": "none",
    "pos_att_type": None, "position_buckets": -1, DISTANCE: -1, WITH_TABLE: True, POOLER: "gelu",
}  # fmt: skip
FIXED = {
    "relative_attention": True, "share_att_key": True, "norm_rel_ebd": "layer_norm", "pos_att_type": ["c2p", "p2c"],
    "conv_kernel_size": 0,
}  # fmt: skip


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = reworded(with_defaults(values, DEFAULTS), WORDS)
    kinds = values["pos_att_type"]
    if isinstance(kinds, str):
        kinds = [kind.strip() for kind in kinds.lower().split("|")]
    if not isinstance(values[WITH_TABLE], bool):
        raise ValueError(f"{WITH_TABLE} must be true or false: received {shown(values[WITH_TABLE])}.")
    if values.get(HEAD_DIM) and values[HEAD_DIM] * values.get("num_attention_heads", 0) == values.get("hidden_size"):
        values[HEAD_DIM] = None
    return values | {
        "pos_att_type": sorted(kinds) if isinstance(kinds, list) else kinds,
        DISTANCE: None if values[DISTANCE] < 1 else values[DISTANCE],
        WITH_TABLE: POSITIONS[values[WITH_TABLE]],
    }


def _write(values: dict[str, Any]) -> dict[str, Any]:
    distance = -1 if values[DISTANCE] is None else values[DISTANCE]
    if values[WITH_TABLE] not in POSITIONS.values():
        raise ValueError(
            f"the deberta-v2 format of Hugging Face has no place for positions={shown(values[WITH_TABLE])}: expected "
            f"one of {list(POSITIONS.values())}."
        )
    with_table = values[WITH_TABLE] == POSITIONS[True]
    return reworded(values, WORDS, back=True) | FIXED | {DISTANCE: distance, WITH_TABLE: with_table}


CLASSES = named_classes("DebertaV2")
DEBERTA_V2 = BERT._replace(
    model_type="deberta-v2",
    configure=deberta_v2,
    tokenizer_class="DebertaV2Tokenizer",
    prefix=BODY,
    weights={
        **{ours: it.replace("bert.", BODY) for ours, it in BERT.weights.items() if it.startswith("bert.")},
        **{f"encoder_block_{{i}}/attention/{part}": f"{BODY}encoder.layer.{{i}}.attention.self.{part}_proj" for part in
           ("query", "key", "value")},
        "positions": BODY + "encoder.rel_embeddings",
        "positions/norm": BODY + "encoder.LayerNorm",
        "pooler": "pooler.dense",
        **{ours: it for ours, it in BERT.weights.items() if it.startswith((HEAD, "classifier", "qa_outputs"))},
    },
    optional=(
        "cls.", "lm_predictions.", "mask_predictions.", "pooler.", "classifier.", "qa_outputs.",
        BODY + "embeddings.position_embeddings.",  # of files whose model does not add them
    ),
    redundant=r"deberta\.embeddings\.position_ids",
    copies={copy: it.replace("bert.", BODY) for copy, it in BERT.copies.items()},
    # The released files of DeBERTa-v3 name the masked LM as DeBERTa's own code does.
    older={
        f"{HEAD}{new}": OLDER_HEAD + new.removeprefix("transform.") for new in
        ("transform.dense.weight", "transform.dense.bias", "transform.LayerNorm.weight", "transform.LayerNorm.bias",
         "bias")
    },
    architectures=CLASSES["architectures"],
    tasks=CLASSES["tasks"],
    fields=BERT.fields | {
        "positions": WITH_TABLE, "position_buckets": "position_buckets", "max_distance": DISTANCE,
        "pooler_activation": POOLER, "pooler_dropout": "pooler_dropout", "classifier_dropout": "cls_dropout",
    },
    fixed=FIXED | {HEAD_DIM: None},  # only what it is without the key
    equal={"embedding_size": "hidden_size", "pooler_hidden_size": "hidden_size"},
    read=_read,
    write=_write,
)  # fmt: skip
