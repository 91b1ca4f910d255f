"""Names of ELECTRA."""

from __future__ import annotations

from typing import Any

from keras_transformers import families
from keras_transformers.checkpoints.names.bert import BERT
from keras_transformers.checkpoints.names.roberta import OF_TOKENS, ROBERTA, named_classes
from keras_transformers.checkpoints.names.table import with_defaults

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
    configure=families.electra,
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
