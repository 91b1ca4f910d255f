"""MPNet: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.choices import PAD_ID, first_position
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT, bert_config
from keras_transformers.families.encoders.roberta import OF_TOKENS, ROBERTA, ROWS, named_classes
from keras_transformers.families.table import with_defaults


def mpnet(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe MPNet: RoBERTa without segments, with one table of T5's relative positions for all blocks besides.

    The epsilon of 1e-5 is that of the released checkpoint. Paper: Song et al. 2020, https://arxiv.org/abs/2004.09297.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens; the position embedding has two rows more.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> mpnet(30527, num_layers=12, num_heads=12, hidden_dim=768).positions
    ('learned', 'relative')
    """
    facts = {
        "positions": ("learned", "relative"), "position_offset": first_position(), "epsilon": 1e-5, "pad_id": PAD_ID,
        "bos_id": 0, "eos_ids": (2,), "pooler_dropout": options.get("dropout", 0.1),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert_config("mpnet", sizes, facts | options)


BODY, LAYER = "mpnet.", "mpnet.encoder.layer.{i}."
OF_MODEL = {"pooler": "mpnet.pooler.dense"}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = with_defaults(values, {"layer_norm_eps": 1e-12})  # of `transformers`, not what the released file says
    return values if values.get(ROWS) is None else values | {ROWS: values[ROWS] - first_position()}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | {ROWS: values[ROWS] + first_position()}


MPNET = ROBERTA._replace(
    model_type="mpnet",
    configure=mpnet,
    tokenizer_class="MPNetTokenizer",
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
