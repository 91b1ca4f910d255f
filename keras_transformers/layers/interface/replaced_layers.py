"""Layers whose inner layers were replaced, which their arguments in a file do not tell."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import keras

UNTOLD = {"name", "dtype", "trainable"}  # that may change without a replacement


def check_savable(layer: Any) -> None:
    """Check that a file with the arguments of a layer gives its inner layers back.

    Raises:
        ValueError: An inner layer that the constructor makes was replaced.

    Example:

    >>> from keras_transformers.layers import FeedForward
    >>> check_savable(FeedForward(16))
    """
    state = random.getstate()  # Keras draws the seeds of the other layer from it
    try:
        made = type(layer).from_config(layer.get_config())
    except Exception:  # its own error comes, better told, when the file is read
        return
    finally:
        random.setstate(state)
    for name, inner in _replaced(layer, made):
        raise ValueError(
            f"{layer.name} cannot be saved: its {name} was replaced by a {type(inner).__name__}, and a file has only "
            f"the arguments of the {type(layer).__name__}. Give a registered class as feed_forward_class= or "
            "attention_class=, or replace the layer in the constructor of a registered subclass, or save the weights "
            "only, model.save_weights."
        )


def _replaced(layer: Any, made: Any) -> Iterator[tuple[str, Any]]:
    """Yield the inner layers that differ from those that the constructor makes, by name."""
    for name, expected in vars(made).items():
        if not isinstance(expected, keras.layers.Layer):
            continue
        inner = getattr(layer, name, None)
        if type(inner) is not type(expected) or _options(inner) != _options(expected):
            yield name, inner
        else:
            yield from ((f"{name}.{more}", found) for more, found in _replaced(inner, expected))


def _options(layer: Any) -> dict[str, Any]:
    """Return the arguments of a layer of ours; the arguments of Keras' layers change when they are built."""
    is_ours = hasattr(layer, "extra_options")
    return {name: value for name, value in layer.get_config().items() if name not in UNTOLD} if is_ours else {}
