"""Tables of names: what presets of KerasNLP call our weights and configuration fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras_transformers import families
from keras_transformers.config import TransformerConfig

LEAVES = {"kernel": "/vars/0", "bias": "/vars/1", "gamma": "/vars/0", "beta": "/vars/1", "embeddings": "/vars/0"}
FIELDS = {
    "vocabulary_size": "vocabulary_size",
    "num_layers": "num_layers",
    "num_heads": "num_heads",
    "hidden_dim": "hidden_dim",
    "intermediate_dim": "intermediate_dim",
    "dropout": "dropout",
    "attention_dropout": "dropout",
    "max_length": "max_sequence_length",
}


class Preset(NamedTuple):
    """One kind of preset.

    Args:
        configure: The family's function.
        architecture: The class of `transformers` with the same layers.
        weights: Names in the preset, by our variable paths, as in `names.table.Names`.
        fields: Names in the preset's config.json, by our configuration fields.
        facts: Our configuration fields that are the same for all presets of this kind.
    """

    configure: Callable[..., TransformerConfig]
    architecture: str
    weights: dict[str, str]
    fields: dict[str, str]
    facts: dict[str, Any]


def _block_weights(kind: str) -> dict[str, str]:
    block = f"layers/transformer_{kind}_{{i}}"
    layers = {
        "attention/query": "_self_attention_layer/query_dense",
        "attention/key": "_self_attention_layer/key_dense",
        "attention/value": "_self_attention_layer/value_dense",
        "attention/output": "_self_attention_layer/output_dense",
        "attention_norm": "_self_attention_layer_norm",
        "feed_forward/intermediate": "_feedforward_intermediate_dense",
        "feed_forward/output": "_feedforward_output_dense",
        "feed_forward_norm": "_feedforward_layer_norm",
    }
    return {f"{kind}_block_{{i}}/{ours}": f"{block}/{theirs}" for ours, theirs in layers.items()}


PRESETS = {
    "BertBackbone": Preset(
        configure=families.bert,
        architecture="BertModel",
        weights={
            "token_embedding": "layers/reversible_embedding",
            "token_embedding/segment_embeddings": "layers/embedding/vars/0",
            "position_embedding": "layers/position_embedding",
            "embedding_norm": "layers/layer_normalization",
            **_block_weights("encoder"),
            "pooler": "layers/dense",
            "classifier": "task/layers/dense",
        },
        fields=FIELDS | {"num_segments": "num_segments"},
        facts={"activation": "gelu_tanh"},  # unlike the release code of BERT
    ),
    "GPT2Backbone": Preset(
        configure=families.gpt2,
        architecture="GPT2LMHeadModel",
        weights={
            "token_embedding": "layers/reversible_embedding",
            "position_embedding": "layers/position_embedding",
            **_block_weights("decoder"),
            "final_norm": "layers/layer_normalization",
        },
        fields=FIELDS,
        facts={},
    ),
}
