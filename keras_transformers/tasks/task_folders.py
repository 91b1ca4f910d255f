"""Folders that a task writes: in Hugging Face layout by `save`, and in several formats by `export`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import keras

from keras_transformers.checkpoints.files.atomic_folder import ONNX
from keras_transformers.checkpoints.settings.names import architecture_of, task_names
from keras_transformers.checkpoints.weights.saving import Graphs, save_folder
from keras_transformers.tasks.answers.services import check_exportable
from keras_transformers.tasks.contract.forwarded import check_process, find_section, with_section
from keras_transformers.tasks.contract.kind import find_kind
from keras_transformers.tasks.exports.onnx_graph import check_onnx, write_onnx
from keras_transformers.training.lora import merged
from keras_transformers.utils.untrusted import shown

FORMATS = ("saved_model", "onnx")
HELP = """
Token ids:
    Without `compute`, the signature `ids` takes int32 `input_ids`, `attention_mask` and, of a model with segments,
    `token_type_ids`, all (B, T), and returns the model's outputs by the names of `transformers`, such as `logits`.

Formats:
    `format="saved_model"`, the default, is the one above. `format="onnx"` writes a folder in Hugging Face layout:
    config.json, the tokenizer's files, for vectors the files of sentence-transformers, and the model as onnx/model.onnx
    in place of its weights, with the int64 inputs and the outputs of `ids`. ONNX Runtime, sentence-transformers and
    transformers.js read it. It needs `pip install "keras_transformers[onnx]"` and takes none of the options above;
    `weights=True` writes model.safetensors, too, so that `zoo.load` reads the folder. It is replaced if it holds such
    an export and nothing else.
"""


def save_task(
    task: Any, folder: str | os.PathLike, dtype: str, files: Mapping[str, str] | None, graphs: Graphs | None = None
) -> None:
    """Write a task in Hugging Face layout: see `Task.save`.

    Args:
        task: A `Task`.
        folder, dtype, files: As for `Task.save`.
        graphs: As for `save_folder`.
    """
    check_process(task.process)
    parts = task.parts
    tokenizer = parts.tokenizer if parts.saved_tokenizer is None else parts.saved_tokenizer
    options = {"architecture": architecture_of(task.name, task.config.family), "dtype": dtype, **parts.saved()}
    options |= {"max_length": task.max_length, "task": {"name": task.name, **parts.saved_options}, "files": files}
    with merged(task.model):
        save_folder(folder, task.model, task.config, tokenizer, graphs=graphs, **options)


def export_method(task: Any) -> Callable[..., None]:
    """Return the method that exports a task: that of its answers, with an argument `format`."""
    check_process(task.process)
    method = task.parts.answers.export
    described = with_section(method, "Signatures", find_section(task.kind.make, "Exports"))

    def export(
        folder: str | os.PathLike,
        *arguments: Any,
        format: str = FORMATS[0],
        weights: bool = False,
        **options: Any,
    ) -> None:
        if not isinstance(format, str) or format not in FORMATS:
            raise ValueError(f"format must be one of {[*FORMATS]}: received {shown(format)}.")
        if not isinstance(weights, bool):
            raise ValueError(f"weights must be True or False: received {shown(weights)}.")
        if format == "onnx":
            return _export_onnx(task, folder, weights, (*map(repr, arguments), *options))
        if weights:
            raise ValueError('weights=True is of format="onnx": a SavedModel always has them. Leave it out.')
        return method(folder, *arguments, **options)

    export.__signature__ = _joined(inspect.signature(method), inspect.signature(export))  # type: ignore[attr-defined]
    export.__doc__ = inspect.cleandoc(described.__doc__ or "") + "\n" + (HELP if _has_ids(task) else "")
    return export


def _joined(method: inspect.Signature, export: inspect.Signature) -> inspect.Signature:
    """Return the signature of a method with the options of `export` before its last, variadic ones."""
    named = [one for one in method.parameters.values() if one.kind is not one.VAR_KEYWORD]
    rest = [one for one in method.parameters.values() if one.kind is one.VAR_KEYWORD]
    own = [one for one in export.parameters.values() if one.name in ("format", "weights")]
    return method.replace(parameters=[*named, *own, *rest])


def _has_ids(task: Any) -> bool:
    """Return whether a task has the outputs of its model for token ids."""
    return getattr(task.parts.answers, "from_ids", None) is not None


def _export_onnx(task: Any, folder: str | os.PathLike, weights: bool, others: tuple[str, ...]) -> None:
    """Write the folder of `format="onnx"`."""
    if not _has_ids(task):
        known = [name for name in task_names() if not find_kind(name).writes_text]
        raise ValueError(
            f'format="onnx" holds models that answer by one pass, of {known} without score_tokens: received '
            f"{task.name} of {task.config.family}. Export it as a SavedModel: leave format out."
        )
    if others:
        raise ValueError(
            f'format="onnx" takes no {", ".join(others)}, which are options of a SavedModel. Leave them out.'
        )
    if keras.DTypePolicy(task.dtype).compute_dtype != "float32":
        raise ValueError(
            f'format="onnx" holds models that compute in float32: received dtype={task.dtype!r}. Save the task, and '
            'load it with dtype="float32".'
        )
    check_exportable()
    check_onnx()
    graphs = Graphs(ONNX, partial(_write_graph, task.parts.answers.from_ids), weights)
    save_task(task, folder, "float32", None, graphs)


def _write_graph(from_ids: Any, folder: Path) -> None:
    write_onnx((folder / ONNX).parent, from_ids)
