"""`train`: the recipe in the file of a model."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from keras_transformers.checkpoints.files.atomic_folder import check_target
from zoo._entry import module, names
from zoo._recipe import remove_state, state_folder
from zoo.cli.app import app, examples, of_data, of_output, of_training, step, verbosity


@app.command(epilog=examples("train mini_bert_en --data DATA/gutenberg_novels --out runs/mini_bert_en"))
def train(
    name: Annotated[str, Argument(help="A name of `list` that was trained with this package.")],
    data: Annotated[Path, of_data(help="Folder of the data that zoo/NAME.py describes.")],
    out: Annotated[
        Path, of_output(help="Folder to write. FOLDER.resume keeps the state of the run until it has ended.")
    ],
    epochs: Annotated[int | None, of_training(help="Passes over the data, if not the recipe's.", min=1)] = None,
    seed: Annotated[int | None, of_training(help="Of weights, order and masks, if not the recipe's.")] = None,
) -> None:
    """Train a model from scratch by its recipe; the same command goes on with an interrupted run."""
    run_recipe(name, data, out, epochs=epochs, seed=seed)


def run_recipe(name: str, data: Path, out: Path, **options: Any) -> None:
    """Call `train` of `zoo/<name>.py` with the options that are given; print the results and remove the run's state."""
    recipe = getattr(module(name), "train", None)
    if recipe is None:
        known = [other for other in names() if hasattr(module(other), "train")]
        raise ValueError(f"{name} was not trained here, so there is no recipe; there is one for {known}.")
    options = {key: value for key, value in options.items() if value is not None}
    if unknown := sorted(options.keys() - inspect.signature(recipe).parameters):
        raise ValueError(f"the recipe of {name} has no options {unknown}.")
    if not data.is_dir():
        raise ValueError(f"there is no folder {data}: expected the data of {name}.")
    check_target(out)
    if missing := [file for file in getattr(module(name), "FILES", ()) if not (data / file).is_file()]:
        paragraphs = (inspect.getdoc(module(name)) or "").split("\n\n")
        files = " ".join(" ".join(paragraphs[2:3]).split())  # what the data are, behind the command
        raise ValueError(f"{data} holds no {', '.join(missing)}, which the recipe of {name} reads. {files}")
    try:
        with step(f"train {name} on {data}", "\n"):
            results = recipe(data, out, verbose=verbosity(), **options)
    except KeyboardInterrupt:
        if state_folder(out).exists():
            print(f"\ninterrupted; the same command goes on from the last state in {state_folder(out)}")
        raise
    print(json.dumps(results), flush=True)
    remove_state(out)  # last, so that the same command repeats the end of the run if it fails before
