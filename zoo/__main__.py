"""The command line of the zoo: `python -m zoo`, or `zoo` where the package is installed."""

from __future__ import annotations

import importlib
import sys

from zoo.cli.app import app
from zoo.terminal.environment import set_environment

set_environment()

VERBS = (
    "list", "describe", "results", "compare", "explore", "train", "finetune", "evaluate", "predict", "generate",
    "export", "convert",
)  # fmt: skip
# A command line that begins with a verb needs no other one.
for verb in set(sys.argv[1:2]) & set(VERBS) or VERBS:
    importlib.import_module(f"zoo.cli.{verb}")

if __name__ == "__main__":
    app(prog_name="python -m zoo")
