"""Exports of models that take token ids: ONNX and LiteRT, in float32 or rounded, with what rounding costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_transformers.checkpoints.files.atomic_folder import CARD, LITERT, ONNX
from keras_transformers.checkpoints.files.card import sealed
from keras_transformers.checkpoints.settings.names import task_names
from keras_transformers.checkpoints.weights.saving import Graphs
from keras_transformers.tasks.answers.services import check_exportable
from keras_transformers.tasks.contract.kind import find_kind
from keras_transformers.tasks.exports import litert_graph, onnx_graph
from keras_transformers.tasks.exports.graph_checks import Program
from keras_transformers.tasks.exports.rounding_loss import (
    MOST,
    Loss,
    checked_data,
    computed_by,
    rounding_loss,
)
from keras_transformers.tasks.fit.held_out import evaluation_set
from keras_transformers.tasks.task_folders import save_task
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown


class GraphOptions(NamedTuple):
    """The options of an export that takes token ids."""

    weights: bool = False
    quantize: str | None = None
    length: int | None = None
    mediapipe: bool = False
    validation_data: Any = None
    max_loss: float | None = None


Programs = Callable[[], tuple[Program, Program]]  # in float32, and rounded


class GraphFormat(NamedTuple):
    """A format of graphs that take token ids."""

    marker: str  # the file that every such folder has
    options: tuple[str, ...]  # of `GraphOptions`, beside `weights`, `validation_data` and `max_loss`
    quantize: tuple[str, ...]
    check: Callable[[Any, GraphOptions], None]  # raises an error before any work
    write: Callable[[Path, Any, GraphOptions], Programs]


FORMATS = {
    "onnx": GraphFormat(ONNX, ("quantize",), ("int8",), onnx_graph.check_options, onnx_graph.write_files),
    "litert": GraphFormat(
        LITERT, ("quantize", "length", "mediapipe"), litert_graph.QUANTIZE, litert_graph.check_options,
        litert_graph.write_files,
    ),
}  # fmt: skip
COMMON = "weights", "validation_data", "max_loss"


def has_ids(task: Any) -> bool:
    """Return whether a task has the outputs of its model for token ids."""
    return getattr(task.parts.answers, "from_ids", None) is not None


def export_graph(task: Any, folder: str | os.PathLike, format: str, given: Mapping[str, Any]) -> None:
    """Write a folder in Hugging Face layout with a graph in place of the weights, or beside them.

    Args:
        task: A `Task`.
        folder: Folder to write; replaced if it holds such an export and nothing else.
        format: One of `FORMATS`.
        given: Options by name, as in `GraphOptions`.

    Raises:
        ValueError: An option is unknown or out of range, the model cannot be held, or rounding costs too much.
        ImportError: A package is missing.
    """
    known = FORMATS[format]
    _check_task(task, format)
    if unknown := [name for name in given if name not in (*known.options, *COMMON)]:
        raise ValueError(
            f"format={format!r} takes no {', '.join(unknown)}: its options are {[*known.options, *COMMON]}. Leave it "
            "out."
        )
    options = _checked(task, format, GraphOptions(**given))
    check_exportable()
    known.check(task, options)

    def write(target: Path) -> None:
        programs = known.write(target, task, options)
        if options.validation_data is not None:
            rank = task.parts.answers.from_ids.rank
            scopes = (computed_by(task.model, program, rank) for program in programs())
            loss = told_loss(task, scopes, options.validation_data, options.max_loss)
            card = f"# {task.name} in {format}, rounded ({options.quantize})\n\n{loss.describe()}\n"
            (target / CARD).write_text(sealed(card), encoding="utf-8")

    save_task(task, folder, "float32", None, Graphs(known.marker, write, options.weights))


def checked_measure(task: Any, data: Any, most: Any) -> list[Any] | None:
    """Return the columns of validation data, checked: see `rounding_loss.checked_data`."""
    columns = checked_data(task, data, most)
    if columns is not None:
        evaluation_set(task, columns, {})
    return columns


def told_loss(task: Any, scopes: Iterable[AbstractContextManager], data: list[Any], most: float | None) -> Loss:
    """Print and return what rounding costs; raise a `ValueError` if it is more than `most`, by default a point."""
    loss = rounding_loss(task, scopes, data)
    loss.check(MOST if most is None else most)
    print(loss.describe())
    return loss


def _check_task(task: Any, format: str) -> None:
    if not has_ids(task):
        known = [name for name in task_names() if not find_kind(name).writes_text]
        raise ValueError(
            f"format={format!r} holds models that answer by one pass, of {known} without score_tokens or crf: received "
            f"{task.name} of {task.config.family}. Export it as a SavedModel: leave format out."
        )
    if keras.DTypePolicy(task.dtype).compute_dtype != "float32":
        raise ValueError(
            f"format={format!r} holds models that compute in float32: received dtype={task.dtype!r}. Save the task, "
            'and load it with dtype="float32".'
        )


def _checked(task: Any, format: str, options: GraphOptions) -> GraphOptions:
    """Return the options, with validation data as columns; raise a `ValueError` for one that is out of range."""
    for name in ("weights", "mediapipe"):
        if not isinstance(value := getattr(options, name), bool):
            raise ValueError(f"{name} must be True or False: received {shown(value)}.")
    known = FORMATS[format].quantize
    if options.quantize is not None and not (isinstance(options.quantize, str) and options.quantize in known):
        raise ValueError(
            f"quantize of format={format!r} must be one of {[*known]}, or None: received {shown(options.quantize)}."
        )
    if options.length is not None and not (is_size(options.length) and 2 <= options.length <= task.max_length):
        raise ValueError(
            f"length is a whole number of tokens from 2 to {task.max_length}, the longest text of the task: received "
            f"{shown(options.length)}."
        )
    if options.validation_data is not None and options.quantize is None:
        raise ValueError('validation_data measures what rounding costs: give quantize="int8", or leave it out.')
    columns = checked_measure(task, options.validation_data, options.max_loss)
    return options._replace(validation_data=columns)
