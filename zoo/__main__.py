"""The command line of the zoo: `python -m zoo`, or `zoo` where the package is installed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from zoo.cli.app import app
from zoo.terminal.environment import set_environment

set_environment()

VERBS = (
    "list", "describe", "results", "compare", "explore", "train", "finetune", "evaluate", "predict", "generate",
    "export", "convert",
)  # fmt: skip
program = Path(sys.argv[0])
is_own = program.stem == "zoo" or program.parts[-2:] == ("zoo", "__main__.py")
# A command line that begins with a verb needs no other one; another program may call any.
for verb in (is_own and set(sys.argv[1:2]) & set(VERBS)) or VERBS:
    importlib.import_module(f"zoo.cli.{verb}")

if __name__ == "__main__":
    app(prog_name="python -m zoo")
