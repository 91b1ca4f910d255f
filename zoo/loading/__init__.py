"""From a name to a task with weights: the place, its checkpoint, the room in memory, the weights."""

from __future__ import annotations

import os
import sys

from keras_transformers.utils.backends import check_task_backend

if "keras" not in sys.modules:  # which would import the backend, or fail without it
    check_task_backend(os.environ.get("KERAS_BACKEND") or "tensorflow")
