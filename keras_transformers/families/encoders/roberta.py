"""RoBERTa: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.choices import PAD_ID, first_position
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT, bert_config
from keras_transformers.families.table import MASKED_LM, heads, with_defaults
from keras_transformers.utils.number_checks import is_count


def roberta(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """RoBERTa: BERT with one segment, and positions that count the tokens that are not padding, from `pad_id + 1`.

    The epsilon of 1e-5 and the special ids are as in the released checkpoints (fairseq). A classifier's first layer,
    our pooler, has the dropout of its last one. Paper: Liu et al. 2019, https://arxiv.org/abs/1907.11692.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens; the position embedding has `pad_id + 1` rows more.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> roberta(50265, num_layers=12, num_heads=12, hidden_dim=768).position_offset
    2
    """
    pad_id, rate = options.get("pad_id", PAD_ID), options.get("classifier_dropout")
    facts = {
        "num_segments": 1, "epsilon": 1e-5, "pad_id": PAD_ID, "bos_id": 0, "eos_ids": (2,),
        "position_offset": first_position(int(pad_id) if is_count(pad_id) else 0),  # the configuration checks the id
        "pooler_dropout": options.get("dropout", 0.1) if rate is None else rate,
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert_config("roberta", sizes, facts | options)


# The defaults of `transformers` for options that config.json omits: not what the released files say.
DEFAULTS = {"layer_norm_eps": 1e-12, "type_vocab_size": 2}
ROWS = "max_position_embeddings"  # of the whole table: those too that no token takes
BODY, HEAD = "roberta.", MASKED_LM
OF_MODEL = {"pooler": "roberta.pooler.dense"}
OF_TOKENS = {"classifier": "classifier"}


def _unused(values: dict[str, Any]) -> int:
    pad_id = values.get("pad_token_id")
    return first_position(PAD_ID if pad_id is None else pad_id)


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = with_defaults(values, DEFAULTS)
    return values if values.get(ROWS) is None else values | {ROWS: values[ROWS] - _unused(values)}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | {ROWS: values[ROWS] + _unused(values)}


def named_classes(name: str) -> dict[str, Any]:
    """Return the `architectures` and `tasks` of a family with RoBERTa's heads.

    Args:
        name: Beginning of the names of the classes.

    Example:

    >>> named_classes("MPNet")["tasks"]["masked_lm"]
    'MPNetForMaskedLM'
    """
    return heads(
        name,
        MaskedLM=MASKED_LM,
        SequenceClassification=("pooler", "classifier"),
        MultipleChoice=("pooler", "classifier"),
        TokenClassification=("classifier",),
        QuestionAnswering=("qa_outputs",),
    )


ROBERTA = BERT._replace(
    model_type="roberta",
    configure=roberta,
    tokenizer_class="RobertaTokenizer",
    prefix=BODY,
    weights={
        **{ours: BODY + it.removeprefix("bert.") for ours, it in BERT.weights.items() if it.startswith("bert.")},
        "pooler": "classifier.dense",
        "masked_lm_dense": "lm_head.dense",
        "masked_lm_norm": "lm_head.layer_norm",
        "masked_lm_bias/bias": "lm_head.bias",
        "classifier": "classifier.out_proj",
        "qa_outputs": "qa_outputs",
    },
    weights_of={
        "RobertaModel": OF_MODEL,
        "RobertaForMultipleChoice": OF_MODEL | OF_TOKENS,
        "RobertaForTokenClassification": OF_TOKENS,
    },
    optional=("roberta.pooler.", "lm_head.", "classifier.", "qa_outputs."),
    redundant=r"roberta\.embeddings\.(position_ids|token_type_ids)",
    copies={
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    **named_classes("Roberta"),
    fields=BERT.fields
    | {"classifier_dropout": "classifier_dropout", "bos_id": "bos_token_id", "eos_ids": "eos_token_id"},
    # The masked LM has GELU whatever `hidden_act` says.
    activations={"gelu": "gelu", "gelu_python": "gelu"},
    fixed=BERT.fixed | {"add_cross_attention": False},
    read=_read,
    write=_write,
)
