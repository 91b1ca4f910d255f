"""The identity of a run of `fit`, which shows whether a saved state belongs to it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from keras_transformers.data.batches.identity import digest
from keras_transformers.training.resuming.run_state import to_json
from keras_transformers.utils.keras_private import all_layers

PLAIN = (type(None), bool, int, float, str)


def run_identity(model: keras.Model, dataset: Any) -> dict[str, Any]:
    """Return a digest of the settings of the model's layers and the identity of its data, as JSON-like values.

    Args:
        model: Weights, optimizer, dtypes and names of layers are not part of the identity.
        dataset: Data set made by `data.pipeline.batches`. A data set without `identity` adds nothing.
    """
    layers = [layer for layer in all_layers(model) if not isinstance(layer, keras.Model)]
    data = dataset.identity() if hasattr(dataset, "identity") else {}
    return json.loads(to_json({"layers": digest(list(map(_settings, layers))), **data}))


def check_same(folder: Path, saved: Mapping[str, Any] | None, run: Mapping[str, Any]) -> None:
    """Raise a `ValueError` if the state in `folder` belongs to another run.

    Args:
        folder: Folder of the saved state.
        saved: The identity in that state; None if version 0.1.0 wrote it.
        run: The identity of the present run.
    """
    remedy = "Remove the folder to start anew, or choose another one."
    if saved is None:
        raise ValueError(
            f"Received {folder}, written by a version that did not note what was trained on; expected the state of "
            f"this very run. {remedy}"
        )
    if differing := [key for key in {**saved, **run} if saved.get(key) != run.get(key)]:
        differences = ", ".join(f"{key} {run.get(key)} instead of {saved.get(key)}" for key in differing)
        raise ValueError(
            f"Received another run than the one that {folder} holds: {differences}. Expected the model, the rows, and "
            f"the settings and seed of their batches that it was started with. {remedy}"
        )


def _settings(layer: keras.layers.Layer) -> list:
    """Return the class of a layer and the options that differ from their defaults.

    So a state stays valid when a later version adds an option whose default changes nothing.
    """
    try:
        config = layer.get_config()
    except NotImplementedError:  # a user's layer that cannot be saved
        return [type(layer).__name__]
    defaults = {name: option.default for name, option in inspect.signature(type(layer)).parameters.items()}
    changed = {name: value for name, value in config.items() if not _is_same(value, defaults.get(name, config))}
    return [type(layer).__name__, _unnamed(changed)]


def _is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and isinstance(value, PLAIN) and value == default


def _unnamed(config: Any) -> Any:
    """Return the configuration without dtypes and names: Keras numbers names in the order in which layers are made."""
    if isinstance(config, (list, tuple)):
        return [_unnamed(item) for item in config]
    if isinstance(config, dict):
        return {key: _unnamed(value) for key, value in config.items() if key not in ("name", "dtype")}
    return config
