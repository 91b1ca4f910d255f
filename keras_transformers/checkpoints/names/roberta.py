"""Names of RoBERTa."""

from __future__ import annotations

from typing import Any

from keras_transformers import families
from keras_transformers.checkpoints.names.bert import BERT
from keras_transformers.checkpoints.names.table import with_defaults
from keras_transformers.config.choices import PAD_ID, first_position

# The defaults of `transformers` for options that config.json omits: not what the released files say.
DEFAULTS = {"layer_norm_eps": 1e-12, "type_vocab_size": 2}
ROWS = "max_position_embeddings"  # of the whole table: those too that no token takes
BODY, HEAD = "roberta.", ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias")
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


ROBERTA = BERT._replace(
    model_type="roberta",
    configure=families.roberta,
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
    architectures={
        "RobertaModel": (),
        "RobertaForMaskedLM": HEAD,
        "RobertaForSequenceClassification": ("pooler", "classifier"),
        "RobertaForMultipleChoice": ("pooler", "classifier"),
        "RobertaForTokenClassification": ("classifier",),
        "RobertaForQuestionAnswering": ("qa_outputs",),
    },
    tasks={
        "masked_lm": "RobertaForMaskedLM",
        "classification": "RobertaForSequenceClassification",
        "token_classification": "RobertaForTokenClassification",
        "question_answering": "RobertaForQuestionAnswering",
        "sentence_embedding": "RobertaModel",
        "ranking": "RobertaForSequenceClassification",
        "multiple_choice": "RobertaForMultipleChoice",
    },
    fields=BERT.fields
    | {"classifier_dropout": "classifier_dropout", "bos_id": "bos_token_id", "eos_ids": "eos_token_id"},
    # The masked LM has GELU whatever `hidden_act` says.
    activations={"gelu": "gelu", "gelu_python": "gelu"},
    fixed=BERT.fixed | {"add_cross_attention": False},
    read=_read,
    write=_write,
)


def named_classes(name: str) -> dict[str, Any]:
    """Return the `architectures` and `tasks` of a family with RoBERTa's heads, whose classes' names begin otherwise.

    Args:
        name: What they begin with.

    Example:

    >>> named_classes("MPNet")["tasks"]["masked_lm"]
    'MPNetForMaskedLM'
    """
    heads = {architecture: name + architecture.removeprefix("Roberta") for architecture in ROBERTA.architectures}
    return {
        "architectures": {heads[architecture]: layers for architecture, layers in ROBERTA.architectures.items()},
        "tasks": {task: heads[architecture] for task, architecture in ROBERTA.tasks.items()},
    }
