"""What a table of names holds, and how a name is looked up in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.config import TransformerConfig

LEAVES = {"kernel": ".weight", "bias": ".bias", "gamma": ".weight", "beta": ".bias", "scale": ".weight",
          "embeddings": ".weight"}  # fmt: skip
LEGACY_LEAVES = {"gamma": "weight", "beta": "bias"}  # of BERT files converted from TensorFlow 1
SIZES = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim", "max_length")


class Reshaped(NamedTuple):
    """A tensor that is stored in another shape than ours: functions of arrays, from theirs to ours and back."""

    read: Callable[[np.ndarray], np.ndarray]
    write: Callable[[np.ndarray], np.ndarray]


class Names(NamedTuple):
    """One family's names.

    Args:
        model_type: The family's name, here and in config.json.
        configure: The family's function.
        prefix: Of the names of all but the heads; files of the bare model leave it out.
        weights: Their names by our variable paths; a layer's path stands for its kernel and bias, or gamma and beta.
            `{i}` is the number of a block.
        optional: Beginnings of names that a model without that head need not take.
        redundant: Pattern of names that hold constants.
        copies: Names that may hold a copy of another tensor, and the name of that.
        architectures: Which of our layers each class of `transformers` needs beside those of the bare model;
            `lm_head` only where it is not tied.
        tasks: The class of `transformers` for each of our tasks.
        fields: Their names of our configuration's fields.
        activations: Our activations by their names; of two names for one, the first is written.
        fixed: The only value of an option that our layers know; it holds where config.json does not say.
        equal: Options that must be as another one is, since both are one field of ours.
        required: Fields of ours that config.json must have.
        fused: Pattern of the names of layers that hold several layers of ours side by side, and the names of these.
        untransposed: Beginnings of names of kernels stored (input, output), as ours are.
        biased: Pattern of the names of layers that have a bias whatever ours have; zeros stand for a missing one.
        logits_bias: Name of a bias of the logits that is written as zeros where a model has none.
        reshaped: Names of tensors of another shape than ours.
        variants: Other tables for models in which a field of ours, such as `"gated"`, is set.
        read: From the options of config.json to those that `fields` names.
        write: The inverse.
    """

    model_type: str
    configure: Callable[..., TransformerConfig]
    prefix: str
    weights: dict[str, str]
    optional: tuple[str, ...]
    redundant: str
    copies: dict[str, str]
    architectures: dict[str, tuple[str, ...]]
    tasks: dict[str, str]
    fields: dict[str, str]
    activations: dict[str, str]
    fixed: dict[str, Any]
    equal: dict[str, str]
    required: tuple[str, ...] = SIZES
    fused: tuple[str, tuple[str, ...]] | None = None
    untransposed: tuple[str, ...] = ()
    biased: str = ""
    logits_bias: str | None = None
    reshaped: dict[str, Reshaped] = {}  # noqa: RUF012 - a field of a NamedTuple
    variants: dict[str, Names] = {}  # noqa: RUF012
    read: Callable[[dict[str, Any]], dict[str, Any]] = dict
    write: Callable[[dict[str, Any]], dict[str, Any]] = dict


def their_name(path: str, names: Names) -> tuple[str, bool]:
    """The tensor that holds a variable, and whether it is stored transposed.

    Example:

    >>> from keras_transformers.checkpoints.names import FAMILIES
    >>> their_name("encoder_block_3/attention/query/kernel", FAMILIES["bert"])
    ('bert.encoder.layer.3.attention.self.query.weight', True)
    """
    name = look_up(path, names.weights, LEAVES)
    if name is None:
        raise ValueError(f"the {names.model_type} format of Hugging Face has no place for the weight {path!r}.")
    return name, path.endswith("/kernel") and not name.startswith(names.untransposed)


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

    >>> from keras_transformers.checkpoints.names import FAMILIES
    >>> modern_name("embeddings.LayerNorm.gamma", FAMILIES["bert"])
    'bert.embeddings.LayerNorm.weight'
    """
    stem, _, leaf = name.rpartition(".")
    name = f"{stem}.{LEGACY_LEAVES[leaf]}" if leaf in LEGACY_LEAVES else name
    return (
        name if name.startswith((names.prefix, *names.optional)) or name == names.logits_bias else names.prefix + name
    )
