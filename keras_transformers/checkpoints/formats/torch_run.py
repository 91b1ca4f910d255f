"""Checkpoints that the training loops of nanoGPT and llama2.c write: a dict of `model`, `model_args` and `config`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.checkpoints.files.pickled import read_saved
from keras_transformers.checkpoints.files.pickled_names import names_in
from keras_transformers.checkpoints.files.tensors import Tensor, by_name
from keras_transformers.checkpoints.stored import UserOptions
from keras_transformers.utils.json_file import Kind, check_types
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import check_is_itself, shown

USUAL = "ckpt.pt"
SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
STATE, ARGUMENTS, CONFIG = "model", "model_args", "config"
WRAPPERS = re.compile(r"(_orig_mod\.|module\.)+")  # of torch.compile and of data parallelism


class Run(NamedTuple):
    """A checkpoint of a training loop.

    Args:
        path: Path of its file.
        tensors: Tensors by name, without the prefixes of torch.compile and of data parallelism.
        arguments: The arguments that the model was made with.
        config: The settings of the run.
    """

    path: Path
    tensors: Mapping[str, Tensor]
    arguments: Mapping[str, Any]
    config: Mapping[str, Any]


def find_run(place: Path, marks: Sequence[str]) -> Path | None:
    """Return the checkpoint of a program at a place: ckpt.pt, or the only one of its files there; None without one.

    Args:
        place: A folder, or the file.
        marks: Names that the pickle of such a file holds.

    Raises:
        ValueError: There are several.
    """
    wanted = {STATE, ARGUMENTS, *marks}
    if place.is_file():
        return place if place.suffix in SUFFIXES and wanted <= names_in(place) else None
    usual = place / USUAL
    files = [usual] if usual.is_file() else [path for path in sorted(place.glob("*.pt")) if path.is_file()]
    found = [path for path in files if wanted <= names_in(path)]
    if len(found) > 1:
        raise ValueError(
            f"{place} holds several checkpoints, {shown([path.name for path in found])}: expected one. Give the file "
            f"itself, such as {str(found[-1])!r}."
        )
    return found[0] if found else None


def read_run(path: Path, kinds: Mapping[str, Kind], user_options: UserOptions) -> Run:
    """Read a checkpoint; no code in it is run.

    Args:
        path: Path of the file.
        kinds: Types of the arguments of its model.
        user_options: The user's information about the checkpoint.

    Raises:
        ValueError: It is damaged, an argument is of another type, or the user gives what the file says.
    """
    check_is_itself(path)
    saved = read_saved(path, STATE)
    arguments = saved.facts.get(ARGUMENTS, {})
    check_types(arguments, kinds, path)
    tensors = [Tensor(_bare(name), x.shape, x.dtype.name, functools.partial(np.asarray, x))
               for name, x in saved.tensors.items()]  # fmt: skip
    named = by_name(((tensor.name, tensor) for tensor in tensors), path)
    return Run(path, named, arguments, saved.facts.get(CONFIG, {}))


def _bare(name: str) -> str:
    return name[match.end() :] if (match := WRAPPERS.match(name)) else name


def table_shape(run: Run, name: str) -> tuple[int, int]:
    """Return the shape of a table or kernel that tells sizes of the model.

    Raises:
        ValueError: There is no such tensor, or it is no table.
    """
    tensor = run.tensors.get(name)
    if tensor is None or len(tensor.shape) != 2 or 0 in tensor.shape:
        held = "none" if tensor is None else f"one of shape {tensor.shape}"
        raise ValueError(
            f"{run.path} holds {held} as {name}: expected a table. It belongs to a modified model, or is incomplete."
        )
    return tensor.shape[0], tensor.shape[1]


def count_layers(run: Run, pattern: Callable[[int], str]) -> int:
    """Return the number of layers, by the name of a tensor that each has."""
    return next(number for number in range(len(run.tensors) + 1) if pattern(number) not in run.tensors)


def check_heads(run: Run, heads: Any, width: int) -> int:
    """Return a number of attention heads if it can be one.

    Raises:
        ValueError: It is no number, or does not divide the width.
    """
    if not is_size(heads) or width % heads:
        raise ValueError(
            f"{run.path}: a model of width {width} cannot have {shown(heads)} attention heads: expected a number that "
            "divides the width. Correct it."
        )
    return heads


def is_tied(run: Run, output: str, table: str) -> bool:
    """Return whether the output layer is the table of tokens, as both programs have it."""
    return output not in run.tensors or run.tensors[output].equals(run.tensors[table])
