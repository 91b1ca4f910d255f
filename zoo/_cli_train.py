"""`train`: the recipe in the file of a model."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.folder import check_target
from zoo._cli import step, verbosity
from zoo._entry import module, names
from zoo._recipe import remove_state, state_folder


def run_recipe(name: str, data: Path, out: Path, **options: Any) -> None:
    """Call `train` of `zoo/<name>.py` with those options that are given; print what it measured, remove its state."""
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
    try:
        with step(f"train {name} on {data}", "\n"):
            results = recipe(data, out, verbose=verbosity(), **options)
    except KeyboardInterrupt:
        if state_folder(out).exists():
            print(f"\ninterrupted; the same command goes on from the last state in {state_folder(out)}")
        raise
    print(json.dumps(results), flush=True)
    remove_state(out)  # now that nothing can be lost: until here, the same command ends as this one did
