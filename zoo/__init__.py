"""The model zoo: names, descriptions, `load`, `new` and `train_further`."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

from keras_transformers.utils.backends import check_task_backend
from zoo.registry.entry import describe, names

if TYPE_CHECKING:
    from zoo.loading.load import load
    from zoo.scratch.api.new import new, train_further

__all__ = ["describe", "load", "names", "new", "train_further"]
LATE = {"load": "zoo.loading.load", "new": "zoo.scratch.api.new", "train_further": "zoo.scratch.api.new"}  # with Keras


def __getattr__(name: str):
    """Import a name of `LATE` when it is first asked for, and Keras with it: names and descriptions come without."""
    if name not in LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its names are {', '.join(__all__)}")
    if "keras" not in sys.modules:  # which would import the backend, or fail without it
        check_task_backend(os.environ.get("KERAS_BACKEND") or "tensorflow")
    globals()[name] = found = getattr(importlib.import_module(LATE[name]), name)
    return found


def __dir__() -> list[str]:
    """List the public names and the module's attributes, for completion."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
