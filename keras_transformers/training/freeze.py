"""Freezing variables by the pattern of their paths."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

import keras


def freeze(model: keras.Model, patterns: str | Sequence[str]) -> list[str]:
    """Make the variables whose path matches a pattern non-trainable.

    If all variables of a top-level layer are frozen, the layer gets `trainable=False`, which a saved model keeps. Other
    frozen variables are trainable again after loading.

    Args:
        model: A built model; compiled or not, but not yet trained, as an optimizer keeps the variables that it was
            built for.
        patterns: Globs over paths such as `"encoder_block_0/attention/query/kernel"`; `*` also matches `/`, so
            `"encoder_block_[0-3]/*"` matches the first four blocks.

    Returns:
        The paths of all matching variables.

    Raises:
        ValueError: If a pattern matches nothing, or the model has been trained.

    Example:

    >>> inputs = keras.Input((2,))
    >>> model = keras.Model(inputs, keras.layers.Dense(1, name="b")(keras.layers.Dense(2, name="a")(inputs)))
    >>> freeze(model, "a/*")
    ['a/kernel', 'a/bias']
    >>> [v.path for v in model.trainable_variables]
    ['b/kernel', 'b/bias']
    """
    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    check_untrained(model)
    for pattern in patterns:
        _check_matches(pattern, [v.path for v in model.weights])
    frozen = [v for v in model.weights if any(fnmatchcase(v.path, pattern) for pattern in patterns)]

    for variable in frozen:
        variable.trainable = False
    for layer in model.layers:
        if layer.weights and not any(v.trainable for v in layer.weights):
            layer.trainable = False
    model.train_function = None  # Keras made it for the variables that were trainable before
    return [v.path for v in frozen]


def check_untrained(model: keras.Model) -> None:
    """Raise a `ValueError` if a model's optimizer has been built, as it keeps the variables it was built for."""
    if getattr(model, "optimizer", None) is not None and model.optimizer.built:
        raise ValueError("Received a model that has been trained; call compile() with a new optimizer first.")


def _check_matches(pattern: str, paths: list[str]) -> None:
    if any(fnmatchcase(path, pattern) for path in paths):
        return
    plain = pattern.strip("/*")
    names = sorted({"/".join(path.split("/")[: plain.count("/") + 1]) for path in paths})
    near = difflib.get_close_matches(plain, names, n=5, cutoff=0.4) or names[:5]
    raise ValueError(
        f"Received pattern {pattern!r}, which matches no variable; near are {near}. An example: {paths[0]!r}."
    )
