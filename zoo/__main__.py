"""The command line of the zoo: `python -m zoo`, or `zoo` where the package is installed."""

from __future__ import annotations

import importlib

from zoo.cli.app import app
from zoo.terminal.environment import set_environment

set_environment()

for verb in (
    "list", "describe", "results", "compare", "explore", "train", "finetune", "evaluate", "predict", "generate",
    "export", "convert",
):  # fmt: skip
    importlib.import_module(f"zoo.cli.{verb}")

if __name__ == "__main__":
    app(prog_name="python -m zoo")
