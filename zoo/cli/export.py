"""`export`: write a model as a SavedModel that takes texts and returns answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from keras_transformers.checkpoints.files.atomic_folder import ONNX, check_target
from zoo.cli.app import app, examples
from zoo.terminal.console import step
from zoo.terminal.options import MaxLength, Model, Prefix, Prompt, TruncateDim

Compute = Literal["int8"]
Format = Literal["saved_model", "onnx"]
MARKERS = {"saved_model": "saved_model.pb", "onnx": ONNX}


@app.command(
    epilog=examples(
        "export runs/finetuned serving/intents/1",
        "export runs/vectors serving/vectors/1 --truncate-dim 128",
        "export runs/finetuned intents --format onnx",
    )
)
def export(
    model: Model,
    folder: Annotated[Path, Argument(help="Folder to write; TensorFlow Serving needs a version number as its name.")],
    prompt: Prompt = None,
    prefix: Prefix = None,
    truncate_dim: TruncateDim = None,
    max_length: MaxLength = None,
    compiled: Annotated[
        bool,
        Option(
            help="Let XLA compute new texts, or the answer to a single text, for a server whose TensorFlow has XLA."
        ),
    ] = False,
    compute: Annotated[
        Compute | None, Option(help="Round weights and activations to 8 bits, for a server whose TensorFlow has XLA.")
    ] = None,
    format: Annotated[
        Format,
        Option(help="Write a SavedModel that takes texts, or a Hugging Face folder whose ONNX graph takes token ids."),
    ] = "saved_model",
    weights: Annotated[
        bool, Option(help="Write model.safetensors beside the ONNX graph, so that the folder can be loaded here.")
    ] = False,
) -> None:
    """Export a model as a SavedModel that takes texts and returns answers, or as an ONNX graph of token ids."""
    check_target(folder, MARKERS[format])
    from zoo.loading.load import load

    with step(f"load {model}"):
        task = load(model, max_length=max_length, default_prompt=prompt, truncate_dim=truncate_dim)
    if prefix is not None and not task.kind.writes_text:
        raise ValueError(f"--prefix is for models that write texts: {model} is made for {task.name}. Leave it out.")
    options: dict[str, Any] = {"prefix": prefix} if task.kind.writes_text else {}
    options |= _given(format, compiled=compiled, compute=compute, weights=weights)
    with step(f"export {folder}"):
        task.export(folder, **options)


def _given(format: str, **options: Any) -> dict[str, Any]:
    """Return the options that differ from their defaults, and the format, so that an error names the former alone."""
    return {name: value for name, value in options.items() if value} | {"format": format}
