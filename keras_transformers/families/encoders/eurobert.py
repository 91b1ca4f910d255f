"""EuroBERT: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BIASES, LLAMA
from keras_transformers.families.encoders.pre_norm import pre_norm_config, released_ids
from keras_transformers.families.table import heads, reworded, with_defaults


def eurobert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 8192, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe EuroBERT: Llama's blocks in an encoder, whose classifier takes the mean of the logits of all tokens.

    The masked LM is an output layer alone. The base of the rotary positions, the epsilon and, in a vocabulary of the
    released size or more, the ids of special tokens are as in the released files.
    Paper: Boizard et al. 2025, https://arxiv.org/abs/2503.05500.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> eurobert(128_256, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=3072).classifier_pooling
    'late'
    """
    facts = {
        "dropout": 0.0, "attention_dropout": 0.0, "activation": "silu", "norm": "rms", "use_bias": False,
        "epsilon": 1e-5, "max_wavelength": 250_000.0, "tie_embeddings": False, "classifier_pooling": "late",
        "head_transform": "none", **released_ids(vocabulary_size, pad_id=128_001, bos_id=128_000, eos_id=128_001),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return pre_norm_config("eurobert", sizes, facts | options)


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
    configure=eurobert,
    weights={
        **{ours.replace("decoder_block", "encoder_block"): theirs for ours, theirs in LLAMA.weights.items()},
        "pooler": "dense",
        "classifier": "classifier",
    },
    optional=("lm_head.", "dense.", "classifier."),
    **heads(
        "EuroBert",
        MaskedLM=("lm_head",),
        SequenceClassification=("pooler", "classifier"),
        TokenClassification=("classifier",),
    ),
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours not in BIASES}
    | {"classifier_pooling": POOLING},
    fixed=LLAMA.fixed | {"attention_bias": False, "mlp_bias": False},
    equal={OLD: POOLING},
    read=_read,
    write=_write,
)
