"""BERT as Google's models for TensorFlow 2 (`official.nlp`) name its variables: in Model Garden and on TF-Hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats.tf_checkpoint import TRAINING, VALUE, object_graph, read_variables
from keras_transformers.utils.untrusted import shown

TABLES = {
    "word_embeddings/embeddings": "word_embeddings",
    "position_embedding/embeddings": "position_embeddings",
    "type_embeddings/embeddings": "token_type_embeddings",
    "embedding_postprocessor/position_embeddings": "position_embeddings",  # this one and the next: models of 2019
    "embedding_postprocessor/type_embeddings": "token_type_embeddings",
}
LAYERS = {
    "embeddings/layer_norm": "bert.embeddings.LayerNorm",
    "embedding_postprocessor/layer_norm": "bert.embeddings.LayerNorm",
    "pooler_transform": "bert.pooler.dense",
    "cls/predictions/transform/dense": "cls.predictions.transform.dense",
    "cls/predictions/transform/LayerNorm": "cls.predictions.transform.LayerNorm",
    "cls/predictions/output_bias": "cls.predictions",
}
IN_BLOCK = {
    "self_attention/query": "attention.self.query",
    "self_attention/key": "attention.self.key",
    "self_attention/value": "attention.self.value",
    "self_attention/attention_output": "attention.output.dense",
    "self_attention_output": "attention.output.dense",
    "self_attention_layer_norm": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}
LEAVES = {"kernel": "weight", "gamma": "weight", "beta": "bias", "bias": "bias"}
BLOCK = re.compile(r"layer_(\d+)/(.+)/(\w+)")
# A head on the first token has any name, with its own pooler or without; a head on all tokens is named "transform".
HEAD = re.compile(r"(?:.*/)?([^/]+)/(pooler_dense|logits)/(kernel|bias)")
NAMELESS, NEXT_SENTENCE = "transform", "next_sentence"
# Variables of models like BERT that BERT does not have.
OTHERS = {
    r".*embedding_projection/.*": "embeddings narrower than its layers (ALBERT, ELECTRA, MobileBERT)",
    r"(.*/)?transformer/(self_attention|intermediate|output).*": "one layer that is repeated (ALBERT)",
    r"(.*/)?(transformer|encoder)/layer_\d+/.*": "layers of another kind",
}


class Objects(NamedTuple):
    """The variables of an object-based checkpoint, and facts from its objects.

    Args:
        variables: Variables by key, each with the name that its layer gave it.
        attributes: The names of attributes that hold objects.
        is_of_tokens: Whether the attribute `classifier` is a layer, and no network: then it is applied to each token.
    """

    variables: Mapping[str, Tensor]
    attributes: frozenset[str]
    is_of_tokens: bool


class Bert(NamedTuple):
    """A BERT found among the variables of a checkpoint.

    Args:
        tensors: Tensors by the names and in the layouts of PyTorch; unknown tensors keep their names.
        num_heads: Attention heads, as the query's kernel has them; None if it is flat.
        architecture: The class of `transformers`, if the names of the tensors do not tell it.
        assumed: As `Stored.assumed`.
    """

    tensors: Sequence[Tensor]
    num_heads: int | None
    architecture: str | None
    assumed: Sequence[str]


def read_objects(prefix: Path, reader: Any) -> Objects:
    """Read the variables and objects of an object-based checkpoint.

    Args:
        prefix: Prefix of the checkpoint.
        reader: Result of `load_checkpoint`.

    Raises:
        ValueError: The record of objects is damaged.
    """
    nodes = object_graph(prefix, reader).nodes
    named = {entry.checkpoint_key: entry.full_name for node in nodes for entry in node.attributes}
    found = read_variables(prefix, reader)
    names = {key: (named.get(key) or key.removesuffix(VALUE)).removesuffix(":0") for key in found}
    variables = {
        key: tensor._replace(name=names[key]) for key, tensor in found.items() if not TRAINING.fullmatch(names[key])
    }
    children = [child for node in nodes for child in node.children]
    classifiers = {child.node_id for child in children if child.local_name == "classifier"}
    layers = [nodes[number] for number in classifiers if 0 <= number < len(nodes)]
    is_of_tokens = any(child.local_name == "kernel" for layer in layers for child in layer.children)
    return Objects(variables, frozenset(child.local_name for child in children), is_of_tokens)


def is_bert(objects: Objects) -> bool:
    """Return whether the variables are of an encoder with these names, or of one like it."""
    names = [tensor.name for tensor in objects.variables.values()]
    return any(name.endswith("word_embeddings/embeddings") for name in names) and any(
        re.search(r"(self_attention|transformer|encoder)/", name) for name in names
    )


def read_bert(objects: Objects, source: Any) -> Bert:
    """Find the tensors of an encoder, and of its head, among the variables.

    Raises:
        ValueError: They are of a model like BERT, or of several heads.
    """
    variables = objects.variables
    check_is_bert([tensor.name for tensor in variables.values()], source)
    names = {key: torch_name(tensor.name) or tensor.name for key, tensor in variables.items()}
    heads, assumed = _head_names(objects, "cls.predictions.bias" in names.values(), source)
    if "bert.pooler.dense.weight" in heads.values():  # then nothing uses the encoder's own pooler
        names = {key: "" if name.startswith("bert.pooler.") else name for key, name in names.items()}
    names |= heads
    queries = (tensor for tensor in variables.values() if tensor.name.endswith("layer_0/self_attention/query/kernel"))
    num_heads = next((tensor.shape[1] for tensor in queries if len(tensor.shape) == 3), None)
    is_of_tokens = objects.is_of_tokens and any(_is_nameless(variables[key].name) for key in heads)
    return Bert(
        tensors=[to_torch(variables[key], name) for key, name in names.items() if name],
        num_heads=num_heads,
        architecture="BertForTokenClassification" if is_of_tokens else None,
        assumed=assumed,
    )


def check_is_bert(names: Sequence[str], source: Any) -> None:
    """Refuse variables of layers or embeddings that BERT does not have."""
    for name in names:
        kind = next((kind for pattern, kind in OTHERS.items() if re.fullmatch(pattern, name)), None)
        if kind and not torch_name(name):
            raise ValueError(
                f"{source} holds a model like BERT with {kind}, which is not supported: it holds {shown(name)}."
            )


def _is_nameless(name: str) -> bool:
    return (match := HEAD.fullmatch(name)) is not None and match[1] == NAMELESS


def _head_names(objects: Objects, has_masked_lm: bool, source: Any) -> tuple[dict[str, str], list[str]]:
    """Return the names in PyTorch of a head's variables by key, empty for unused ones; and the assumptions."""
    matches = {key: HEAD.fullmatch(tensor.name) for key, tensor in objects.variables.items()}
    found = {key: match for key, match in matches.items() if match}
    heads = sorted({match[1] for match in found.values() if match[2] == "logits"})
    if len(heads) > 1:
        raise ValueError(f"{source} holds the heads {shown(heads)}: expected one. Save the model with one of them.")
    if not heads:
        poolers = sorted({match[1] for match in found.values()})
        clauses = [
            f"the pooler is the encoder's, as the head {shown(name)} is stored without logits" for name in poolers
        ]
        return dict.fromkeys(found, ""), clauses
    layer = "classifier"
    if heads[0] == NAMELESS and "span_labeling" in objects.attributes:
        layer = "qa_outputs"
    elif has_masked_lm or heads[0] == NEXT_SENTENCE:
        layer = "cls.seq_relationship"
    layers = {"logits": layer, "pooler_dense": "bert.pooler.dense"}
    own = {key: match for key, match in found.items() if match[1] == heads[0]}
    return {key: f"{layers[match[2]]}.{LEAVES[match[3]]}" for key, match in own.items()}, []


def torch_name(name: str) -> str | None:
    """Return the name in PyTorch's classes of an encoder's or a masked LM's variable, under any prefix; or None.

    Example:

    >>> torch_name("bert_encoder/transformer/layer_0/self_attention/query/kernel")
    'bert.encoder.layer.0.attention.self.query.weight'
    """
    return next(filter(None, map(_of_suffix, _suffixes(name))), None)


def _suffixes(name: str) -> Iterator[str]:
    parts = name.split("/")
    return ("/".join(parts[begin:]) for begin in range(len(parts)))


def _of_suffix(name: str) -> str | None:
    stem, _, leaf = name.rpartition("/")
    if name in TABLES:
        return f"bert.embeddings.{TABLES[name]}.weight"
    if leaf in LEAVES and stem in LAYERS:
        return f"{LAYERS[stem]}.{LEAVES[leaf]}"
    match = BLOCK.fullmatch(name)
    if match and match[2] in IN_BLOCK and leaf in LEAVES:
        return f"bert.encoder.layer.{int(match[1])}.{IN_BLOCK[match[2]]}.{LEAVES[leaf]}"
    return None


def to_torch(tensor: Tensor, name: str) -> Tensor:
    """Return a variable by a name of PyTorch, in its layout: heads in one axis, kernels transposed."""
    renamed, leaf = tensor._replace(name=name), tensor.name.rpartition("/")[2]
    rank = len(tensor.shape)
    if leaf == "kernel" and rank > 1:
        axis = -1 if name.endswith("attention.output.dense.weight") else 0  # the axis that is not of heads
        shape = (-1, tensor.shape[-1]) if axis else (tensor.shape[0], -1)
        return renamed.map(lambda array: array.reshape(shape).T)
    return renamed.map(np.ravel) if leaf == "bias" and rank > 1 else renamed
