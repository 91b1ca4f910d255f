"""Names and shapes of weights, as files keep them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import keras

FOLDER = Path(__file__).resolve().parents[1] / "models" / "golden"


def check_weights(model: keras.Model, name: str) -> None:
    """Names are a promise: checkpoints, freezing and decay exclusions go by them. UPDATE_GOLDEN=1 writes them anew."""
    shapes = {weight.path: list(weight.shape) for weight in model.weights if "seed_generator" not in weight.path}
    golden = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(json.dumps(shapes, indent=1) + "\n")
    assert shapes == json.loads(golden.read_text())
