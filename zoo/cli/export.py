"""`export`: write a model as a SavedModel that takes texts and returns answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from keras_transformers.checkpoints.files.atomic_folder import check_target
from zoo.cli.app import app, examples
from zoo.terminal.console import step
from zoo.terminal.options import MaxLength, Model, Prefix, Prompt, TruncateDim

Compute = Literal["int8"]


@app.command(
    epilog=examples(
        "export runs/finetuned serving/intents/1", "export runs/vectors serving/vectors/1 --truncate-dim 128"
    )
)
def export(
    model: Model,
    folder: Annotated[
        Path, Argument(help="Folder for the SavedModel; TensorFlow Serving needs a version number as its name.")
    ],
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
) -> None:
    """Export a model as a SavedModel that takes texts and returns answers."""
    check_target(folder, "saved_model.pb")
    from zoo.loading.load import load

    with step(f"load {model}"):
        task = load(model, max_length=max_length, default_prompt=prompt, truncate_dim=truncate_dim)
    if prefix is not None and not task.kind.writes_text:
        raise ValueError(f"--prefix is for models that write texts: {model} is made for {task.name}. Leave it out.")
    options: dict[str, Any] = {"prefix": prefix} if task.kind.writes_text else {}
    options |= {"compiled": compiled, "compute": compute}
    with step(f"export {folder}"):
        task.export(folder, **options)
