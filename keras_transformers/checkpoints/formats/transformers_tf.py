"""Weights of the `TF...` classes of `transformers`, up to version 4: HDF5 files, and safetensors of format "tf"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from keras_transformers.checkpoints.files.hdf5 import read_hdf5
from keras_transformers.checkpoints.files.tensors import Tensor, open_shards
from keras_transformers.utils.untrusted import shown

FILE = "tf_model.h5"
INDEX = f"{FILE}.index.json"
TWICE = re.compile(r"(?:\w+\.)?shared/(?=(?:\w+\.)?shared/)")  # the tokens of both sides
LEAVES = {"kernel": "weight", "gamma": "weight", "beta": "bias", "embeddings": "weight"}


def torch_name(name: str) -> str:
    """Return the name in PyTorch's classes of a weight.

    Example:

    >>> torch_name("bert/encoder/layer_._0/output/dense/kernel:0")
    'bert.encoder.layer.0.output.dense.weight'
    >>> torch_name("model.shared/model.shared/embeddings:0"), torch_name("mlm___cls/predictions/bias:0")
    ('model.shared.weight', 'cls.predictions.bias')
    """
    name = TWICE.sub("", name.removesuffix(":0"))
    parts = [part.rpartition("___")[2].replace("_._", ".") for part in name.split("/")]
    stem, dot, leaf = parts[-1].rpartition(".")  # of names such as rel_embeddings.weight
    return ".".join([*parts[:-1], stem + dot + LEAVES.get(leaf, leaf)])


def to_torch(tensor: Tensor) -> Tensor:
    """Return a weight by the name and in the layout of PyTorch's classes."""
    leaf = tensor.name.removesuffix(":0").rpartition("/")[2]
    renamed = tensor._replace(name=torch_name(tensor.name))
    if leaf == "kernel" and len(tensor.shape) == 2:
        return renamed.map(np.transpose)
    if leaf == "bias" and len(tensor.shape) == 2 and tensor.shape[0] == 1:  # of GPT-2's Conv1D
        return renamed.map(lambda array: array[0])
    return renamed


def read_weights(folder: Path) -> list[Tensor]:
    """List the weights of `tf_model.h5`, or of the shards that its index names.

    Args:
        folder: Folder of the model.

    Raises:
        ValueError: A file is missing or damaged, or has one weight twice, with other values.
    """
    if not (folder / FILE).is_file():
        return [to_torch(tensor) for tensor in open_shards(folder / INDEX, read_hdf5, names_in_shards)]
    tensors = _without_model(read_hdf5(folder / FILE))
    return _without_repeats([to_torch(tensor) for tensor in tensors], folder / FILE)


def names_in_shards(name: str) -> tuple[str, str]:
    """Return the names that a weight of an index may have in its shard: the same name, with or without the model's."""
    return name, name.partition("/")[2]


def _without_model(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors by the names of their weights, without the model's name in front, which is arbitrary.

    The path of a data set is `bert/tf_bert_model/bert/...`: a layer, then the name of a weight, which may be another
    layer's.
    """
    parted = [tensor.name.split("/", 2) for tensor in tensors]
    models = {parts[1] for parts in parted if len(parts) == 3 and parts[2].startswith(f"{parts[0]}/")}
    names = [parts[2:] if len(parts) == 3 and parts[1] in models else parts[1:] or parts for parts in parted]
    return [tensor._replace(name="/".join(name)) for tensor, name in zip(tensors, names, strict=True)]


def _without_repeats(tensors: Iterable[Tensor], path: Path) -> list[Tensor]:
    """Drop tensors that are stored again in another layer, as T5's tokens are in both stacks."""
    once: dict[str, Tensor] = {}
    for tensor in tensors:
        first = once.setdefault(tensor.name, tensor)
        if first is not tensor and not first.equals(tensor):
            raise ValueError(
                f"{path} holds {shown(tensor.name)} more than once, with other values: nothing was loaded. Save the "
                "model again."
            )
    return [*once.values()]
