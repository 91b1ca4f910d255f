"""Where the Hugging Face checkpoints of each family keep our weights, and our configuration: tables of names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from keras_transformers import families
from keras_transformers.config import TransformerConfig

LEAVES = {"kernel": ".weight", "bias": ".bias", "gamma": ".weight", "beta": ".bias", "embeddings": ".weight"}
LEGACY_LEAVES = {"gamma": "weight", "beta": "bias"}  # of BERT files converted from TensorFlow 1


class Names(NamedTuple):
    """One family's names.

    Args:
        model_type: The family's name in config.json.
        configure: The family's function.
        prefix: Of the names of all but the heads; files of the bare model leave it out.
        weights: Their names by our variable paths; a layer's path stands for its kernel and bias, or gamma and beta.
            `{i}` is the number of a block.
        optional: Beginnings of names that a model without that head need not take.
        redundant: Names that hold copies or constants.
        architectures: Which of our layers each class of `transformers` needs beside the encoder.
        fields: Their names of our configuration's fields.
        activations: Their names of our activations.
    """

    model_type: str
    configure: Callable[..., TransformerConfig]
    prefix: str
    weights: dict[str, str]
    optional: tuple[str, ...]
    redundant: tuple[str, ...]
    architectures: dict[str, tuple[str, ...]]
    fields: dict[str, str]
    activations: dict[str, str]


BERT = Names(
    model_type="bert",
    configure=families.bert,
    prefix="bert.",
    weights={
        "token_embedding": "bert.embeddings.word_embeddings",
        "token_embedding/segment_embeddings": "bert.embeddings.token_type_embeddings.weight",
        "position_embedding": "bert.embeddings.position_embeddings",
        "embedding_norm": "bert.embeddings.LayerNorm",
        "encoder_block_{i}/attention/query": "bert.encoder.layer.{i}.attention.self.query",
        "encoder_block_{i}/attention/key": "bert.encoder.layer.{i}.attention.self.key",
        "encoder_block_{i}/attention/value": "bert.encoder.layer.{i}.attention.self.value",
        "encoder_block_{i}/attention/output": "bert.encoder.layer.{i}.attention.output.dense",
        "encoder_block_{i}/attention_norm": "bert.encoder.layer.{i}.attention.output.LayerNorm",
        "encoder_block_{i}/feed_forward/intermediate": "bert.encoder.layer.{i}.intermediate.dense",
        "encoder_block_{i}/feed_forward/output": "bert.encoder.layer.{i}.output.dense",
        "encoder_block_{i}/feed_forward_norm": "bert.encoder.layer.{i}.output.LayerNorm",
        "pooler": "bert.pooler.dense",
        "masked_lm_dense": "cls.predictions.transform.dense",
        "masked_lm_norm": "cls.predictions.transform.LayerNorm",
        "masked_lm_bias/bias": "cls.predictions.bias",
        "next_sentence": "cls.seq_relationship",
        "classifier": "classifier",
    },
    optional=("bert.pooler.", "cls.", "classifier.", "qa_outputs."),
    redundant=("bert.embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
    architectures={
        "BertModel": (),
        "BertForPreTraining": ("pooler", "masked_lm_dense", "masked_lm_norm", "masked_lm_bias", "next_sentence"),
        "BertForMaskedLM": ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias"),
        "BertForNextSentencePrediction": ("pooler", "next_sentence"),
        "BertForSequenceClassification": ("pooler", "classifier"),
    },
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "max_length": "max_position_embeddings",
        "num_segments": "type_vocab_size",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "activation": "hidden_act",
        "epsilon": "layer_norm_eps",
        "initializer_range": "initializer_range",
        "pad_id": "pad_token_id",
    },
    activations={"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "silu": "silu", "tanh": "tanh"},
)
FAMILIES = {names.model_type: names for names in (BERT,)}


def their_name(path: str, names: Names) -> tuple[str, bool]:
    """The tensor that holds a variable, and whether it is stored transposed.

    Example:

    >>> their_name("encoder_block_3/attention/query/kernel", BERT)
    ('bert.encoder.layer.3.attention.self.query.weight', True)
    """
    name = look_up(path, names.weights, LEAVES)
    if name is None:
        raise ValueError(f"the {names.model_type} format of Hugging Face has no place for the weight {path!r}.")
    return name, path.endswith("/kernel")


def look_up(path: str, weights: dict[str, str], leaves: dict[str, str]) -> str | None:
    """Translates a variable's path: a whole one, or that of its layer and then its last part; None if unknown."""
    number = "".join(re.findall(r"_block_(\d+)/", path))
    pattern = re.sub(r"_block_\d+/", "_block_{i}/", path)
    layer, _, leaf = pattern.rpartition("/")
    if pattern in weights:
        return weights[pattern].format(i=number)
    if layer in weights and leaf in leaves:
        return weights[layer].format(i=number) + leaves[leaf]
    return None


def modern_name(name: str, names: Names) -> str:
    """The name that today's `transformers` gives to a tensor of an older file, or of one without prefix.

    Example:

    >>> modern_name("embeddings.LayerNorm.gamma", BERT)
    'bert.embeddings.LayerNorm.weight'
    """
    stem, _, leaf = name.rpartition(".")
    name = f"{stem}.{LEGACY_LEAVES[leaf]}" if leaf in LEGACY_LEAVES else name
    return name if name.startswith((names.prefix, *names.optional)) else names.prefix + name
