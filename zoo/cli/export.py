"""`export`: write a model as a SavedModel that takes texts and returns answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from keras_transformers.checkpoints.files.atomic_folder import LITERT, ONNX, check_target
from zoo.cli.app import app, examples
from zoo.cli.data import Columns, check_header, examples_of
from zoo.terminal.console import step
from zoo.terminal.options import (
    Label,
    MaxLength,
    Model,
    Prefix,
    Prompt,
    Text,
    TextPair,
    TruncateDim,
    of_data,
    readable,
)

MARKERS = {"saved_model": "saved_model.pb", "onnx": ONNX, "litert": LITERT}
Folder = Annotated[Path, Argument(help="Folder to write; TensorFlow Serving needs a version number as its name.")]
Format = Annotated[
    Literal["saved_model", "onnx", "litert"],
    Option(
        help="Write a SavedModel that takes texts, or a Hugging Face folder whose ONNX graph or LiteRT file takes "
        "token ids."
    ),
]
Compiled = Annotated[
    bool,
    Option(help="Let XLA compute new texts, or the answer to a single text, for a server whose TensorFlow has XLA."),
]
Compute = Annotated[
    Literal["int8"] | None,
    Option(help="Round weights and activations to 8 bits, for a server whose TensorFlow has XLA."),
]
Weights = Annotated[
    bool, Option(help="Write model.safetensors beside the graph, so that the folder can be loaded here.")
]
Quantize = Annotated[
    Literal["int8", "float16"] | None,
    Option(help="Round the matrices of the graph to 8 bits, or of LiteRT to 16 bits."),
]
Length = Annotated[int | None, Option(help="Tokens of the only row that the LiteRT file takes; any number by default.")]
MediaPipe = Annotated[
    bool, Option(help="Put the vocabulary and the labels into the LiteRT file, so that MediaPipe gives it texts.")
]
Validation = Annotated[
    Path | None,
    of_data(
        callback=readable,
        help="File of labelled texts to print the metrics before and after rounding with (--quantize, --compute).",
    ),
]
MaxLoss = Annotated[
    float | None,
    Option(help="Largest loss of the main metric by rounding, a point (0.01) by default."),
]


@app.command(
    epilog=examples(
        "export runs/finetuned serving/intents/1",
        "export runs/vectors serving/vectors/1 --truncate-dim 128",
        "export runs/finetuned intents --format onnx --quantize int8 --validation test.csv",
        "export runs/finetuned phone --format litert --mediapipe",
    )
)
def export(
    model: Model,
    folder: Folder,
    prompt: Prompt = None,
    prefix: Prefix = None,
    truncate_dim: TruncateDim = None,
    max_length: MaxLength = None,
    compiled: Compiled = False,
    compute: Compute = None,
    format: Format = "saved_model",
    weights: Weights = False,
    quantize: Quantize = None,
    length: Length = None,
    mediapipe: MediaPipe = False,
    validation: Validation = None,
    max_loss: MaxLoss = None,
    text: Text = "text",
    text_pair: TextPair = None,
    label: Label = None,
) -> None:
    """Export a model as a SavedModel that takes texts and returns answers, or as a graph of token ids."""
    check_target(folder, MARKERS[format])
    columns = Columns(text, text_pair, label)
    if validation is not None:
        check_header(validation, columns)
    from zoo.loading.load import load

    with step(f"load {model}"):
        task = load(model, max_length=max_length, default_prompt=prompt, truncate_dim=truncate_dim)
    if prefix is not None and not task.kind.writes_text:
        raise ValueError(f"--prefix is for models that write texts: {model} is made for {task.name}. Leave it out.")
    options: dict[str, Any] = {"prefix": prefix} if task.kind.writes_text else {}
    options |= _given(compiled=compiled, compute=compute, weights=weights, quantize=quantize, length=length)
    options |= _given(mediapipe=mediapipe) | {"format": format}
    if validation is not None:
        rows = examples_of(task.kind, validation, columns, task.parts.attributes.get("problem"))
        options["validation_data"] = rows
    options |= _given(max_loss=max_loss)
    with step(f"export {folder}"):
        task.export(folder, **options)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that differ from their defaults, so that an error names them alone."""
    return {name: value for name, value in options.items() if value is not None and value is not False}
