"""Weights of the `TF...` classes of `transformers`, up to version 4: HDF5 files, and safetensors of format "tf"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np

from keras_transformers.checkpoints.hdf5 import read_hdf5
from keras_transformers.checkpoints.tensors import Tensor, open_shards

FILE = "tf_model.h5"
INDEX = f"{FILE}.index.json"
MODEL = re.compile(r"tf[a-z0-9_]*/(?=.*/)")  # the name of a class, such as tf_bert_model_1
TWICE = re.compile(r"(?:(?:en|de)coder/)?(?:(\w+\.)?shared/){2}")  # the tokens of both sides
LEAVES = {"kernel": "weight", "gamma": "weight", "beta": "bias", "embeddings": "weight"}


def torch_name(name: str) -> str:
    """Return the name in PyTorch's classes of a weight.

    Example:

    >>> torch_name("tf_bert_for_pre_training/bert/encoder/layer_._0/output/dense/kernel:0")
    'bert.encoder.layer.0.output.dense.weight'
    >>> torch_name("model.shared/model.shared/embeddings:0"), torch_name("mlm___cls/predictions/bias:0")
    ('model.shared.weight', 'cls.predictions.bias')
    """
    name = MODEL.sub("", name.removesuffix(":0"), count=1)
    name = TWICE.sub(lambda match: f"{match[1] or ''}shared/", name, count=1)
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
        folder: Of the model.

    Raises:
        ValueError: A file is missing or damaged, or has one weight twice, with other values.
    """
    if (folder / FILE).is_file():
        return [to_torch(tensor) for tensor in _once(read_hdf5(folder / FILE, _weight_name), folder / FILE)]
    return [to_torch(tensor) for tensor in open_shards(folder / INDEX, read_hdf5, MODEL)]


def _weight_name(file: h5py.File, path: str) -> str:
    """Return the name of a weight: its path in the group of a layer, but in a shard, which has none, the whole."""
    group, _, name = path.partition("/")
    return name if any(key.startswith("weight_names") for key in file[group].attrs) else path


def _once(tensors: Iterable[Tensor], path: Path) -> list[Tensor]:
    """Return tensors without those that stand in several layers: T5's tokens, in both stacks."""
    once: dict[str, Tensor] = {}
    for tensor in tensors:
        first = once.setdefault(tensor.name, tensor)
        if first is not tensor and not first.equals(tensor):
            raise ValueError(
                f"{path} holds {tensor.name} more than once, with other values: nothing was loaded. Save the model "
                "again."
            )
    return [*once.values()]
