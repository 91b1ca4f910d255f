"""ELECTRA: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT, bert_config
from keras_transformers.families.encoders.roberta import OF_TOKENS, ROBERTA, named_classes
from keras_transformers.families.table import with_defaults


def electra(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe ELECTRA: BERT, with narrower embeddings in the small model, and a classifier that has GELU.

    Paper: Clark et al. 2020, https://arxiv.org/abs/2003.10555.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`;
            `embedding_dim` is 128 in the small model and None in the others.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> electra(30522, num_layers=12, num_heads=4, hidden_dim=256, embedding_dim=128).pooler_activation
    'gelu'
    """
    rate = options.get("classifier_dropout")
    facts = {
        "num_segments": 2, "epsilon": 1e-12, "pooler_activation": "gelu",
        "pooler_dropout": options.get("dropout", 0.1) if rate is None else rate,
    }  # fmt: skip
    if options.get("embedding_dim") == hidden_dim:  # there is no projection then
        options |= {"embedding_dim": None}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert_config("electra", sizes, facts | options)


BODY, DETECTOR, WIDTH = "electra.", "discriminator_predictions.", "embedding_size"
CLASSES = named_classes("Electra")


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out an embedding width that is the hidden width: there is no projection then."""
    values = with_defaults(values, {WIDTH: 128})  # the default of `transformers`
    return values | {WIDTH: None} if values[WIDTH] == values.get("hidden_size") else values


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | {WIDTH: values["hidden_size"] if values[WIDTH] is None else values[WIDTH]}


ELECTRA = BERT._replace(
    model_type="electra",
    configure=electra,
    prefix=BODY,
    weights={
        **{ours: it.replace("bert.", BODY) for ours, it in BERT.weights.items() if it.startswith("bert.")},
        "embedding_projection": BODY + "embeddings_project",
        "pooler": "classifier.dense",
        "masked_lm_dense": "generator_predictions.dense",
        "masked_lm_norm": "generator_predictions.LayerNorm",
        "masked_lm_bias/bias": "generator_lm_head.bias",
        "classifier": "classifier.out_proj",
        "qa_outputs": "qa_outputs",
        "replaced_token_dense": DETECTOR + "dense",
        "replaced_token": DETECTOR + "dense_prediction",
    },
    weights_of={
        "ElectraForMultipleChoice": OF_TOKENS | {"pooler": "sequence_summary.summary"},
        "ElectraForTokenClassification": OF_TOKENS,
    },
    optional=(DETECTOR, "generator_predictions.", "generator_lm_head.", "sequence_summary.",
              "classifier.", "qa_outputs."),
    redundant=r"electra\.embeddings\.(position_ids|token_type_ids)",
    copies={"generator_lm_head.weight": BODY + "embeddings.word_embeddings.weight"},
    architectures=CLASSES["architectures"] | {"ElectraForPreTraining": ("replaced_token_dense", "replaced_token")},
    tasks={"replaced_tokens": "ElectraForPreTraining"} | CLASSES["tasks"],
    fields=BERT.fields | {"embedding_dim": WIDTH, "classifier_dropout": "classifier_dropout"},
    activations=ROBERTA.activations,  # the masked LM and the classifier have GELU whatever `hidden_act` says
    fixed=ROBERTA.fixed | {"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
    read=_read,
    write=_write,
)  # fmt: skip
