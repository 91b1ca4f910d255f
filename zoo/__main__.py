"""The command line of the zoo: `python -m zoo`, or `zoo` where the package is installed."""

from __future__ import annotations

import importlib
import os
import platform

from zoo.cli.app import app

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors that matter are raised, not logged
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")  # keeps the memory of large tensors for the next step
if platform.machine() in ("x86_64", "AMD64"):  # TensorFlow itself leaves oneDNN off on those with AVX2 alone
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

for verb in (
    "list", "describe", "results", "compare", "explore", "train", "finetune", "evaluate", "predict", "generate",
    "export",
):  # fmt: skip
    importlib.import_module(f"zoo.cli.{verb}")

if __name__ == "__main__":
    app(prog_name="python -m zoo")
