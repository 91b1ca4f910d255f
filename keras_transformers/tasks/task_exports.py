"""The method `export` of a task: a SavedModel by its answers, or a graph of token ids in another format."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from keras_transformers.tasks.answers.services import check_compute
from keras_transformers.tasks.contract.forwarded import check_process, find_section, with_section
from keras_transformers.tasks.exports.rounding_loss import with_int8
from keras_transformers.tasks.graph_exports import (
    FORMATS,
    GraphOptions,
    checked_measure,
    export_graph,
    has_ids,
    told_loss,
)
from keras_transformers.training.lora import merged
from keras_transformers.utils.untrusted import shown

SAVED_MODEL = "saved_model"
GRAPH_OPTIONS = {
    name: one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for name, one in inspect.signature(GraphOptions, eval_str=True).parameters.items()
}
MEASURED = "validation_data", "max_loss"  # options of all formats
HELP = """
Token ids:
    Without `compute`, the signature `ids` takes int32 `input_ids`, `attention_mask` and, of a model with segments,
    `token_type_ids`, all (B, T), and returns the model's outputs by the names of `transformers`, such as `logits`.

Formats:
    `format="saved_model"`, the default, is the one above. The others write a folder in Hugging Face layout:
    config.json, the tokenizer's files, for vectors the files of sentence-transformers, and a graph of the model in
    place of its weights, with the inputs and the outputs of `ids`. The folder is replaced if it holds such an export
    and nothing else. They take none of the options above, but, of which the last are for `compute="int8"`, too:

    - `weights=True` to write model.safetensors, too, so that `zoo.load` reads the folder.
    - `quantize`: `"int8"` to round matrices to 8 bits, and activations at each product.
    - `validation_data`, `(texts, labels)` or `(texts, labels, pairs)`: the metrics of `evaluate` before and after
      rounding are printed, and written into README.md; `max_loss` (0.01): a larger loss of the main one is an error,
      and nothing is written.

    `format="onnx"` writes onnx/model.onnx, which takes int64, for ONNX Runtime, sentence-transformers and
    transformers.js, and with `quantize` onnx/model_quantized.onnx beside it. `pip install "keras_transformers[onnx]"`.

    `format="litert"` writes model.tflite, which takes int32, for phones and small devices; `quantize="float16"` stores
    weights of 16 bits. `length`: the tokens of the only row that the file then takes; None for any. `mediapipe=True`
    puts the vocabulary and the labels inside, for MediaPipe's TextClassifier and TextEmbedder, which take text; the
    `length` is then 128, if the task's is not less. `pip install "keras_transformers[litert]"`, with `mediapipe` in
    place of `litert` for the latter.
"""


def export_method(task: Any) -> Callable[..., None]:
    """Return the method that exports a task: that of its answers, with the options of further formats."""
    check_process(task.process)
    method = task.parts.answers.export
    described = with_section(method, "Signatures", find_section(task.kind.make, "Exports"))

    def export(folder: str | os.PathLike, *arguments: Any, format: str = SAVED_MODEL, **options: Any) -> None:
        if not isinstance(format, str) or format not in (SAVED_MODEL, *FORMATS):
            raise ValueError(f"format must be one of {[SAVED_MODEL, *FORMATS]}: received {shown(format)}.")
        if format != SAVED_MODEL:
            return export_graph(task, folder, format, {**{repr(value): value for value in arguments}, **options})
        data, most = (options.pop(name, None) for name in MEASURED)
        if given := sorted(options.keys() & GRAPH_OPTIONS.keys()):
            raise ValueError(
                f"{', '.join(given)}: only with format={' or '.join(map(repr, FORMATS))}. Leave out, or give a format."
            )
        _measure(task, options.get("compute"), data, most)
        return method(folder, *arguments, **options)

    export.__signature__ = _joined(inspect.signature(method))  # type: ignore[attr-defined]
    export.__doc__ = inspect.cleandoc(described.__doc__ or "") + "\n" + (HELP if has_ids(task) else "")
    return export


def _measure(task: Any, compute: Any, data: Any, most: Any) -> None:
    """Print the metrics of a task before and after the rounding of a SavedModel; refuse too large a loss."""
    check_compute(compute)
    if data is not None and compute is None:
        raise ValueError('validation_data measures what rounding costs: give compute="int8", or leave it out.')
    columns = checked_measure(task, data, most)
    if columns is None:
        return
    scopes = nullcontext(), with_int8(task.model, task.config, task.max_length)
    with merged(task.model):
        told_loss(task, scopes, columns, most)


def _joined(method: inspect.Signature) -> inspect.Signature:
    """Return the signature of a method with the format and its options before its last, variadic ones."""
    named = [one for one in method.parameters.values() if one.kind is not one.VAR_KEYWORD]
    rest = [one for one in method.parameters.values() if one.kind is one.VAR_KEYWORD]
    chosen = inspect.Parameter("format", inspect.Parameter.KEYWORD_ONLY, default=SAVED_MODEL, annotation=str)
    return method.replace(parameters=[*named, chosen, *GRAPH_OPTIONS.values(), *rest])
