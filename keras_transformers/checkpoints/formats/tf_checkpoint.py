"""The variables of a TensorFlow checkpoint, `PREFIX.index` and `PREFIX.data-*`, read without a graph."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats.tf_index import MOST_SHARDS, data_files, read_index, read_string
from keras_transformers.utils.untrusted import MOST_LETTERS, check_is_itself, decoded, read_bytes, shown

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
# Variables of optimizers and training loops, and below the name of a variable: no part of a model.
TRAINING = re.compile(
    r"(.*/)?(adam_[mv]|Adam(_1)?|ExponentialMovingAverage|Momentum|beta[12]_power|global_step|save_counter|step)"
    r"|(.*/)?(_?optimizer|\.OPTIMIZER_SLOT|keras_api)/.*"
)
NAMED = re.compile(r'^\s*model_checkpoint_path:\s*"(.*)"', re.MULTILINE)


def find_prefix(place: Path) -> Path | None:
    """Return the prefix of the checkpoint in a folder: its only one, or the one that the file `checkpoint` names.

    Args:
        place: A folder; or a prefix, such as `folder/model.ckpt-1000`.

    Returns:
        The prefix, or None if there is no checkpoint.

    Raises:
        ValueError: There are several, and none is named; or the named one, or a part of it, is missing.
    """
    if not place.is_dir():
        return _check_complete(place) if index_of(place).is_file() else None
    prefixes = [path.with_name(path.name.removesuffix(".index")) for path in sorted(place.glob("*.index"))]
    named = _named_prefix(place / "checkpoint")
    if named is None and not prefixes:
        return None
    if named is None and len(prefixes) > 1:
        raise ValueError(
            f"{place} holds several checkpoints, {shown([path.name for path in prefixes])}, and no file `checkpoint` "
            f"that names one: expected one. Give that one, such as {str(prefixes[-1])!r}."
        )
    prefix = prefixes[0] if named is None else place / named
    if not os.path.isfile(index_of(prefix)):  # False for impossible names, too
        there = f"there are {[path.name for path in prefixes]}: give one of them" if prefixes else "fetch it"
        raise ValueError(f"{place / 'checkpoint'} names {shown(prefix.name)}, which is not there: {there}.")
    return _check_complete(prefix)


def index_of(prefix: Path) -> Path:
    """Return the path of a checkpoint's index."""
    return prefix.with_name(f"{prefix.name}.index")


def _named_prefix(path: Path) -> str | None:
    """Return the name of the newest checkpoint, from a file `checkpoint`, whose folders may be of another machine."""
    match = NAMED.search(decoded(read_bytes(path), path)) if path.is_file() else None
    name = re.split(r"[/\\]", match[1])[-1] if match else ""
    return None if name in ("", ".", "..") else name


def _check_complete(prefix: Path) -> Path:
    """Return the prefix, after checking that all its data files are there."""
    count, found = data_files(prefix)
    numbers = (number for number in range(min(count, MOST_SHARDS)) if number not in found)
    if missing := [f"{prefix.name}.data-{number:05}-of-{count:05}" for number in numbers]:
        raise ValueError(f"{index_of(prefix)} needs files that are not there: {shown(missing)}. Fetch them too.")
    for path in (index_of(prefix), *found.values()):
        check_is_itself(path)
    return prefix


def load_checkpoint(prefix: Path) -> Any:
    """Open a checkpoint, and return the reader of `tf.train.load_checkpoint`.

    Raises:
        ValueError: TensorFlow is not installed; or the files are damaged, or hold less than the index says.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ValueError(
            f"{prefix} is a TensorFlow checkpoint, and to read it takes TensorFlow: pip install tensorflow; or convert "
            "it where TensorFlow is installed: python -m zoo convert."
        ) from error
    entries = read_index(index_of(prefix))
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        dtypes = reader.get_variable_to_dtype_map()
    except Exception as error:  # what it raises depends on where the index is damaged
        raise damaged(prefix, error) from error
    _check_sizes(prefix, entries, dtypes)
    return reader


def _check_sizes(prefix: Path, entries: Mapping[str, Any], dtypes: Mapping[str, Any]) -> None:
    """Refuse an index in which a variable has another size than its shape, or more bytes than the files hold."""
    held = {number: path.stat().st_size for number, path in data_files(prefix)[1].items()}
    for key, entry in entries.items():
        asked = math.prod(dim.size for dim in entry.shape.dim) * dtypes[key].size
        is_of_numbers = dtypes[key].is_floating or dtypes[key].is_integer or dtypes[key].is_bool
        if (is_of_numbers and asked != entry.size) or entry.offset + entry.size > held.get(entry.shard_id, 0):
            raise ValueError(
                f"{index_of(prefix)} says that {shown(key)} takes {max(asked, entry.size):,} bytes from "
                f"{entry.offset:,} on, which its data file with {held.get(entry.shard_id, 0):,} has not: it is cut "
                "short, or belongs to another checkpoint. Fetch it again."
            )


def damaged(prefix: Path, error: Exception) -> ValueError:
    """Return the error of a checkpoint that cannot be read."""
    return ValueError(f"{prefix} is damaged or incomplete ({str(error)[:MOST_LETTERS]}): fetch it again.")


def read_variables(prefix: Path, reader: Any) -> dict[str, Tensor]:
    """List the variables of a checkpoint by their keys, without the optimizer's; their values are read later.

    Args:
        prefix: Prefix of the checkpoint, for errors.
        reader: Result of `load_checkpoint`.
    """
    dtypes = reader.get_variable_to_dtype_map()
    shapes = {key: tuple(shape) for key, shape in reader.get_variable_to_shape_map().items() if key != GRAPH}
    return {
        key: Tensor(key, shape, dtypes[key].name, functools.partial(_read, prefix, reader, key))
        for key, shape in sorted(shapes.items())
        if not TRAINING.fullmatch(key.removesuffix(VALUE)) and key.rpartition("/")[0] not in shapes
    }


def _read(prefix: Path, reader: Any, key: str) -> np.ndarray:
    try:
        return reader.get_tensor(key)
    except Exception as error:
        raise damaged(prefix, error) from error


def is_object_based(reader: Any) -> bool:
    """Return whether a checkpoint is one of TensorFlow 2, of objects and their attributes."""
    return reader.has_tensor(GRAPH)


def object_graph(prefix: Path, reader: Any) -> Any:
    """Return the record of an object-based checkpoint's objects, a `TrackableObjectGraph`.

    Its keys are paths of attributes, which depend on how the objects were held; its names come from the layers.

    Raises:
        ValueError: It is damaged, or there is none.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    if not is_object_based(reader):
        raise ValueError(f"{prefix} has no record of its objects: expected a checkpoint of TensorFlow 2.")
    try:
        return trackable_object_graph_pb2.TrackableObjectGraph.FromString(read_string(prefix, GRAPH))
    except DecodeError as error:
        raise damaged(prefix, error) from error
