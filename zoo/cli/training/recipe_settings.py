"""`train NAME --data DIR`: the settings of a run by the recipe in a model's file, and the run."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from keras_transformers.checkpoints.files.atomic_folder import check_target
from zoo.registry.entry import module, names
from zoo.registry.recipe import remove_state, state_folder
from zoo.terminal.console import step, verbosity
from zoo.terminal.options import of_data


@dataclass(frozen=True)
class RecipeSettings:
    """The settings of a run by a recipe; None for what the recipe is to choose.

    Raises:
        ValueError: There is no recipe, it lacks an option that is given, or there is no folder with its data.
    """

    name: Annotated[str, Argument(help="Model of the zoo to train again by its recipe; needs --data.")]
    data: Annotated[Path, of_data(help="Folder with the training data of the recipe; zoo/NAME.py describes it.")]
    out: Path  # the options of these fields are those of `RunSettings`
    epochs: float | None = None
    seed: int | None = None

    def __post_init__(self):
        if self._recipe is None:
            known = [other for other in names() if hasattr(module(other), "train")]
            raise ValueError(f"{self.name} was not trained here, so there is no recipe; there is one for {known}.")
        if self.epochs is not None and not (math.isfinite(self.epochs) and round(self.epochs) >= 1):
            raise ValueError(f"--epochs of a recipe must be a whole number, at least 1: received {self.epochs}.")
        if unknown := sorted(self.options.keys() - inspect.signature(self._recipe).parameters):
            raise ValueError(f"the recipe of {self.name} has no options {unknown}.")
        if not self.data.is_dir():
            raise ValueError(f"there is no folder {self.data}: expected the data of {self.name}.")
        check_target(self.out)
        if missing := [file for file in getattr(module(self.name), "FILES", ()) if not (self.data / file).is_file()]:
            paragraphs = (inspect.getdoc(module(self.name)) or "").split("\n\n")
            files = " ".join(" ".join(paragraphs[2:3]).split())  # what the data are, behind the command
            raise ValueError(
                f"{self.data} holds no {', '.join(missing)}, which the recipe of {self.name} reads. {files}"
            )

    @property
    def _recipe(self) -> Any:
        """Return the function `train` of `zoo/NAME.py`, or None."""
        return getattr(module(self.name), "train", None)

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the recipe that are given, by name."""
        given = {"epochs": None if self.epochs is None else round(self.epochs), "seed": self.seed}
        return {name: value for name, value in given.items() if value is not None}

    def run(self) -> None:
        """Call the recipe, print its results, and remove the state of the run."""
        try:
            with step(f"train {self.name} on {self.data}", "\n"):
                results = self._recipe(self.data, self.out, verbose=verbosity(), **self.options)
        except KeyboardInterrupt:
            if state_folder(self.out).exists():
                print(f"\ninterrupted; repeat the command to resume from the last state in {state_folder(self.out)}")
            raise
        print(json.dumps(results), flush=True)
        remove_state(self.out)  # last, so that the same command repeats the end of the run if it fails before
