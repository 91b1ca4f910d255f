"""The masks that Keras carries with tensors: reading them, and seeing that one was removed."""

from __future__ import annotations

import inspect
import warnings
from typing import Any
from weakref import WeakKeyDictionary, ref

from keras_transformers.utils.keras_private import mark_masked, mask_is_removed, mask_of

# Of each layer: `{argument}` for inputs that had a mask, `{argument} without` for those that a functional model passes
# without one, `{argument} warned` after the warning.
SEEN: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
LAST: list[ref] = []  # the last tensor whose mask was lost: a block's attention may read it after the block


def note_symbolic(layer: Any, arguments: tuple, inputs: dict[str, Any]) -> None:
    """Note which inputs of a layer have a mask when a functional model is made.

    Args:
        layer: A layer that reads the masks of its first argument, of its `context` and its `key`.
        arguments, inputs: Arguments of the call.

    Example:

    >>> import keras
    >>> note_symbolic(keras.layers.Identity(), (keras.Input((3, 8)),), {})
    """
    given = inspect.signature(layer.call).bind_partial(*arguments, **inputs).arguments
    first = next(iter(given.values()))
    mask = inputs.get("mask")
    _note(layer, "hidden_states" if mask_of(first) is not None or mask is not None else "hidden_states without")
    for name in ("context", "key"):
        if (source := given.get(name)) is not None:
            _note(layer, name if mask_of(source) is not None else f"{name} without")


def carried(
    layer: Any, x: Any, mask: Any = None, name: str = "hidden_states", remedy: str = "padding_mask"
) -> Any | None:
    """Return the mask of a tensor: the one that Keras passes by name, or the one that the tensor carries; or None.

    It warns, once for a layer, if the tensor had a mask and has none now: `keras.layers.MultiHeadAttention` removes the
    masks of the tensors that it reads.

    Args:
        layer: The layer that reads the mask.
        x: (B, T, D).
        mask: (B, T), the mask that Keras passes by name, or None.
        name: Name of the tensor in the layer's call: `"hidden_states"`, `"context"` or `"key"`.
        remedy: The argument of the layer that takes a mask for this tensor.

    Example:

    >>> import keras
    >>> carried(keras.layers.Identity(), np.ones((1, 3, 8))) is None
    True
    """
    mask = mask_of(x) if mask is None else mask
    if mask is not None:
        mark_masked(x)
        _note(layer, name)
    elif is_lost(layer, x, name) and not any(last() is x for last in LAST):
        LAST[:] = [ref(x)]
        _warn_once(layer, name, remedy)
    return mask


def _warn_once(layer: Any, name: str, remedy: str) -> None:
    if f"{name} warned" not in SEEN.get(layer, ()):
        _note(layer, f"{name} warned")
        warnings.warn(
            f"{layer.name} gets no mask with its {name}, which had one when the layer was built, or called before: "
            "padding is not hidden. keras.layers.MultiHeadAttention removes Keras' mask from the tensors that it "
            f"reads. Pass the mask by name, {remedy}=; the compute_mask of an embedding or a Masking layer gives it.",
            stacklevel=3,
        )


def is_lost(layer: Any, x: Any, name: str = "hidden_states") -> bool:
    """Return whether a tensor without a mask had one that Keras removed.

    TensorFlow's tensors look the same if they never had one. Then a layer that has seen masked inputs counts, unless a
    functional model passes it inputs without masks, too.

    Example:

    >>> import keras
    >>> is_lost(keras.layers.Identity(), np.ones((1, 3, 8)))
    False
    """
    removed, seen = mask_is_removed(x), SEEN.get(layer, ())
    return bool(removed or (removed is None and name in seen and f"{name} without" not in seen))


def _note(layer: Any, fact: str) -> None:
    SEEN.setdefault(layer, set()).add(fact)
