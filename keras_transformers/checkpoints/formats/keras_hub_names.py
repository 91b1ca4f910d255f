"""Tables of names: what presets of KerasHub, formerly KerasNLP, call our weights and configuration fields."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras_transformers.families.table import Names, look_up, their_name

PLACES = {"kernel": "/vars/0", "bias": "/vars/1", "gamma": "/vars/0", "beta": "/vars/1", "embeddings": "/vars/0"}
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
        family: Name of the family.
        architecture: The class of `transformers` with the same layers.
        weights: Names in the preset, by our variable paths, as in `names.table.Names`.
        fields: Names in the preset's config.json, by our configuration fields.
        facts: Our configuration fields that are the same for all presets of this kind.
    """

    family: str
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
        family="bert",
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
        facts={"activation": "gelu_new"},  # unlike the release code of BERT
    ),
    "GPT2Backbone": Preset(
        family="gpt2",
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


def torch_names(preset: Preset, names: Names, num_layers: int) -> dict[str, tuple[str, bool]]:
    """Return for each tensor of a preset its name in PyTorch's classes, and whether it is transposed there.

    Args:
        preset: Kind of the preset.
        names: Table of names of the family.
        num_layers: Blocks.

    Example:

    >>> from keras_transformers.checkpoints.settings.names import FAMILIES
    >>> names = torch_names(PRESETS["BertBackbone"], FAMILIES["bert"], num_layers=1)
    >>> names["layers/transformer_encoder_0/_feedforward_output_dense/vars/0"]
    ('bert.encoder.layer.0.output.dense.weight', True)
    """
    patterns = [
        f"{layer}/{leaf}".rstrip("/") for layer, place in preset.weights.items() for leaf in _leaves(layer, place)
    ]
    paths = [pattern.format(i=index) for pattern in patterns for index in range(num_layers if "{i}" in pattern else 1)]
    names_by_path = {path: look_up(path, preset.weights, PLACES) for path in paths}
    return {name: their_name(path, names) for path, name in names_by_path.items() if name is not None}


def _leaves(layer: str, place: str) -> tuple[str, ...]:
    """Return the last parts of the paths of a layer's variables; an empty one where the layer is a variable."""
    if "/vars/" in place:
        return ("",)
    return (
        ("gamma", "beta")
        if layer.endswith("_norm")
        else ("embeddings",)
        if layer.endswith("_embedding")
        else ("kernel", "bias")
    )
