"""`convert`: any checkpoint as a folder in the Hugging Face layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from keras_transformers.checkpoints.files.atomic_folder import check_target
from keras_transformers.utils.untrusted import resolved
from zoo.cli.app import TaskName, app, check_loadable, counted, examples, of_model, print_facts, step


@app.command(
    epilog=examples(
        "convert uncased_L-12_H-768_A-12 models/bert",
        "convert runs/ende/avg models/ende --num-heads 8 --dtype float16",
    )
)
def convert(
    model: Annotated[str, Argument(help="What `zoo.load` reads: a folder, or a name.")],
    folder: Annotated[Path, Argument(help="Folder to write.")],
    task: TaskName = None,
    dtype: Annotated[
        str | None,
        Option(help="Of the stored weights: float32, float16, bfloat16 or float8_e4m3fn; as they are if not given."),
    ] = None,
    lowercase: Annotated[
        bool | None, of_model("--lowercase/--cased", help="Whether texts are lower-cased, where no file says it.")
    ] = None,
    num_heads: Annotated[int | None, of_model(help="Attention heads, where no file says it.", min=1)] = None,
    pickled: Annotated[bool, of_model("--pickled", help="Read old pytorch_model.bin; no code in it is run.")] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace a folder that a save has written.")] = False,
) -> None:
    """Write a checkpoint of any program as a Hugging Face folder, with safetensors.

    `transformers` reads it, where it has a class for the model (it has none for OpenNMT-tf's).
    One tensor at a time is in memory.
    """
    given: dict[str, Any] = {"lowercase": lowercase, "num_heads": num_heads, "pickled": pickled}
    _check_folder(model, folder, overwrite)
    check_loadable(model, **given)
    from keras_transformers.checkpoints.saving import check_dtype
    from keras_transformers.checkpoints.stored import UserOptions
    from zoo._convert import convert as write
    from zoo._find import find

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
        raise ValueError(f"{folder} is the folder to read: expected another one to write.")


def facts(converted: Any) -> dict[str, str]:
    """Return the facts of a converted checkpoint, as `convert` prints them."""
    config = converted.config
    blocks = " + ".join(str(number) for number in (config.num_layers, config.num_decoder_layers) if number)
    lowercase = (json.loads(converted.tokenizer.to_json())["normalizer"] or {}).get("lowercase")
    case = "" if lowercase is None else ", lower-cased" if lowercase else ", cased"
    sizes = f"{blocks} block{'s' * (blocks != '1')}, {counted(config.num_heads, 'head')}, width {config.hidden_dim}"
    return {
        "written by": converted.writer,
        "family": config.family,
        "sizes": f"{sizes}, {config.max_length:,} tokens",
        "weights": f"{converted.weights:,}, stored as {converted.dtype}",
        "head": converted.architecture + (f": {', '.join(converted.labels)}" if converted.labels else ""),
        "tokenizer": f"{converted.tokenizer.vocabulary_size:,} tokens{case}",
        "assumed": "; ".join(converted.assumed) or "nothing",
    }
