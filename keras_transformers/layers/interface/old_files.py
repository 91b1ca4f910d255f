"""Compatibility with `.keras` files and calls from before layers returned one tensor, or options were renamed."""

from __future__ import annotations

import inspect
from typing import Any

import keras

OLD_NAME = "encoder_hidden_states"  # old name of the second input of decoder blocks, now `context`
OLD_OPTIONS = {"reach": "window"}  # present names of options of layers by their old ones


class ReturnsCache(keras.layers.Layer):
    """A layer that can return a cache. In old files, which have no `return_cache`, it always does."""

    return_scores = False

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Build the layer from its configuration."""
        has_option = "return_cache" in inspect.signature(cls.__init__).parameters  # a user's subclass may lack it
        return super().from_config({**({"return_cache": True} if has_option else {}), **config})

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build the layer for the shapes in its file."""
        shapes = {_new(name): shape for name, shape in config.get("shapes_dict", {}).items()}
        super().build_from_config({**config, **({"shapes_dict": shapes} if shapes else {})})

    def __call__(self, *arguments: Any, **inputs: Any) -> Any:
        """Call the layer."""
        return super().__call__(*arguments, **{_new(name): value for name, value in inputs.items()})


def with_new_names(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a layer by their present names.

    Example:

    >>> with_new_names({"reach": (1, 0), "seed": 1})
    {'window': (1, 0), 'seed': 1}

    Raises:
        ValueError: An option is given by both names.
    """
    for old, new in OLD_OPTIONS.items():
        if old in options and new in options:
            raise ValueError(
                f"received {old}={options[old]!r} and {new}={options[new]!r}: leave out {old}, an old name."
            )
    return {OLD_OPTIONS.get(name, name): value for name, value in options.items()}


def _new(name: str) -> str:
    """Return the present name of an argument."""
    return name.replace(OLD_NAME, "context")
