"""What every test shares: the data folder, and the run without TensorFlow."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # as the command line sets it on x86
if os.environ.get("BLOCK_TENSORFLOW"):  # the run under JAX: an import of TensorFlow fails, as where it is not installed
    sys.modules["tensorflow"] = None

# What only one backend has; JAX runs in step 8 of .ci/run.
collect_ignore_glob = ["*_on_tensorflow.py" if os.environ.get("KERAS_BACKEND") == "jax" else "*_on_jax.py"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of shared data sets: `ZOO_DATA`, or `../shared/data` beside the checkout."""
    folder = Path(os.environ.get("ZOO_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}; set ZOO_DATA to the folder that holds them")
    return folder
