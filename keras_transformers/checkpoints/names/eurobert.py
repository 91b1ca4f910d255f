"""Names of EuroBERT."""

from __future__ import annotations

from typing import Any

from keras_transformers import families
from keras_transformers.checkpoints.names.llama import LLAMA
from keras_transformers.checkpoints.names.table import reworded, with_defaults

POOLING, OLD = "classifier_pooling", "clf_pooling"  # in `transformers`, and in the code that came with the release
POOLINGS = {"late": "late", "bos": "first", "mean": "mean"}
WORDS = {POOLING: POOLINGS, OLD: POOLINGS}
# The defaults of `transformers` for options that config.json omits: not what the released files say.
DEFAULTS = {"rope_theta": 10_000.0, POOLING: "late"}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    return reworded(with_defaults(values, DEFAULTS), WORDS)


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return reworded(values, WORDS, back=True)


EUROBERT = LLAMA._replace(
    model_type="eurobert",
    configure=families.eurobert,
    weights={
        **{ours.replace("decoder_block", "encoder_block"): theirs for ours, theirs in LLAMA.weights.items()},
        "pooler": "dense",
        "classifier": "classifier",
    },
    optional=("lm_head.", "dense.", "classifier."),
    architectures={
        "EuroBertModel": (),
        "EuroBertForMaskedLM": ("lm_head",),
        "EuroBertForSequenceClassification": ("pooler", "classifier"),
        "EuroBertForTokenClassification": ("classifier",),
    },
    tasks={
        "masked_lm": "EuroBertForMaskedLM",
        "classification": "EuroBertForSequenceClassification",
        "token_classification": "EuroBertForTokenClassification",
        "sentence_embedding": "EuroBertModel",
        "ranking": "EuroBertForSequenceClassification",
    },
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours != "use_bias"}
    | {"classifier_pooling": POOLING},
    fixed=LLAMA.fixed | {"attention_bias": False, "mlp_bias": False},
    equal={OLD: POOLING},
    read=_read,
    write=_write,
)
