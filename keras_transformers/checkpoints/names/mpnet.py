"""Names of MPNet."""

from __future__ import annotations

from typing import Any

from keras_transformers import families
from keras_transformers.checkpoints.names.bert import BERT
from keras_transformers.checkpoints.names.roberta import OF_TOKENS, ROBERTA, ROWS, named_classes
from keras_transformers.checkpoints.names.table import with_defaults
from keras_transformers.config.choices import PAD_ID, first_position

BODY, LAYER = "mpnet.", "mpnet.encoder.layer.{i}."
OF_MODEL = {"pooler": "mpnet.pooler.dense"}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = with_defaults(values, {"layer_norm_eps": 1e-12})  # of `transformers`, not what the released file says
    return values if values.get(ROWS) is None else values | {ROWS: values[ROWS] - first_position()}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | {ROWS: values[ROWS] + first_position()}


MPNET = ROBERTA._replace(
    model_type="mpnet",
    configure=families.mpnet,
    prefix=BODY,
    weights={
        **{ours: it.replace("roberta.", BODY) for ours, it in ROBERTA.weights.items() if "segment" not in ours},
        **{f"encoder_block_{{i}}/attention/{part}": f"{LAYER}attention.attn.{part[0]}" for part in
           ("query", "key", "value", "output")},
        "encoder_block_{i}/attention_norm": LAYER + "attention.LayerNorm",
        "positions": BODY + "encoder.relative_attention_bias",
    },
    weights_of={
        "MPNetModel": OF_MODEL,
        "MPNetForMultipleChoice": OF_MODEL | OF_TOKENS,
        "MPNetForTokenClassification": OF_TOKENS,
    },
    optional=(BODY + "pooler.", "lm_head.", "classifier.", "qa_outputs."),
    redundant=r"mpnet\.embeddings\.position_ids",
    copies={copy.replace("roberta.", BODY): it.replace("roberta.", BODY) for copy, it in ROBERTA.copies.items()},
    **named_classes("MPNet"),
    fields={
        **{ours: theirs for ours, theirs in BERT.fields.items() if ours != "num_segments"},
        "bos_id": "bos_token_id",
        "eos_ids": "eos_token_id",
    },
    # Positions begin after row 1 whatever the id of padding is, and its masked LM has GELU.
    fixed={"relative_attention_num_buckets": 32, "pad_token_id": PAD_ID},
    read=_read,
    write=_write,
)  # fmt: skip
