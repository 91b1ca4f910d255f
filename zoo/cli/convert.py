"""`convert`: write a checkpoint of any supported format as a folder in Hugging Face layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from keras_transformers.checkpoints.files.atomic_folder import check_target
from keras_transformers.utils.untrusted import resolved
from zoo.cli.app import app, examples
from zoo.terminal.console import counted, print_facts, step
from zoo.terminal.options import TaskName, check_loadable, of_model


@app.command(
    epilog=examples(
        "convert uncased_L-12_H-768_A-12 models/bert",
        "convert runs/ende/avg models/ende --num-heads 8 --dtype float16",
    )
)
def convert(
    model: Annotated[str, Argument(help="Checkpoint to convert: a folder or file, or a name, as for `zoo.load`.")],
    folder: Annotated[Path, Argument(help="Folder to write.")],
    task: TaskName = None,
    dtype: Annotated[
        str | None,
        Option(help="Data type to store: float32, float16, bfloat16 or float8_e4m3fn. If omitted, unchanged."),
    ] = None,
    lowercase: Annotated[
        bool | None,
        of_model("--lowercase/--cased", help="Whether texts are lower-cased, if the checkpoint does not say."),
    ] = None,
    num_heads: Annotated[
        int | None, of_model(help="Number of attention heads, if the checkpoint does not say.", min=1)
    ] = None,
    pickled: Annotated[
        bool, of_model("--pickled", help="Read an old pytorch_model.bin, without running any code in it.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the folder if it holds a saved model.")] = False,
) -> None:
    """Convert a checkpoint of any supported format to a Hugging Face folder with safetensors.

    The `transformers` library can read the folder if it has a class for the model (it has none for OpenNMT-tf's).
    Only one tensor is in memory at a time.
    """
    given: dict[str, Any] = {"lowercase": lowercase, "num_heads": num_heads, "pickled": pickled, "task": task}
    _check_folder(model, folder, overwrite)
    check_loadable(model, **given)
    from keras_transformers.checkpoints.stored import UserOptions
    from keras_transformers.checkpoints.weights.saving import check_dtype
    from zoo.loading.conversion import convert as write
    from zoo.loading.find import find

    if dtype is not None:
        check_dtype(dtype)
    with step(f"read {model}"):
        checkpoint = find(model, given=UserOptions(**given))
    if checkpoint.stored is not None:  # of an adapter, its base
        _check_apart(folder, checkpoint.stored.folder)
    with step(f"write {folder}"):
        converted = write(checkpoint, folder, dtype, task)
    print_facts(facts(converted))


def _check_folder(model: str, folder: Path, overwrite: bool) -> None:
    check_target(folder)
    _check_apart(folder, model)
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise ValueError(f"{folder} is not empty: give a new folder, or --overwrite to replace this one.")


def _check_apart(folder: Path, place: str | Path) -> None:
    if resolved(folder) == resolved(place):
        raise ValueError(f"{folder} is the folder to read: give another folder to write.")


def facts(converted: Any) -> dict[str, str]:
    """Return the facts of a converted checkpoint, as `convert` prints them."""
    config = converted.config
    blocks = counted(config.num_layers, "block")
    if config.num_decoder_layers:
        blocks = f"{config.num_layers} + {counted(config.num_decoder_layers, 'block')}"
    lowercase = (json.loads(converted.tokenizer.to_json())["normalizer"] or {}).get("lowercase")
    case = "" if lowercase is None else ", lower-cased" if lowercase else ", cased"
    sizes = f"{blocks}, {counted(config.num_heads, 'head')}, width {config.hidden_dim}"
    return {
        "written by": converted.writer,
        "family": config.family,
        "sizes": f"{sizes}, {config.max_length:,} tokens",
        "weights": f"{converted.weights:,}, stored as {converted.dtype}",
        "head": converted.architecture + (f": {', '.join(converted.labels)}" if converted.labels else ""),
        "tokenizer": f"{converted.tokenizer.vocabulary_size:,} tokens{case}",
        "assumed": "; ".join(converted.assumed) or "nothing",
    }
