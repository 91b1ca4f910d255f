"""Loading of the weights of a checkpoint into a model: all, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_transformers.checkpoints import stray
from keras_transformers.checkpoints.files.tensors import Tensor, by_name
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.settings.names import names_of
from keras_transformers.checkpoints.stored import Stored, UserOptions
from keras_transformers.checkpoints.weights import assign
from keras_transformers.checkpoints.weights.fused import join, reshape, reshape_back, split
from keras_transformers.families.table import Names, modern_name, their_name


def load_weights(
    model: keras.Model,
    stored: Stored | str | os.PathLike,
    *,
    missing_ok: Iterable[str] = (),
    fresh: Iterable[str] = (),
    pickled: bool = False,
) -> tuple[str, ...]:
    """Load the weights of a checkpoint into a model made from its configuration.

    float16, bfloat16 and float8_e4m3fn are converted to the variables' dtype; 8-bit floats with scales are refused.
    Heads that the model does not have are ignored, with a warning if no model of the family has them; everything else
    must fit.

    Args:
        model: Model made by `models`, with or without heads of `heads`: its weights are found by their names.
        stored: Result of `formats.find_stored`, or a folder.
        missing_ok: Names of layers, such as `"classifier"`, that keep their initial values if the checkpoint has
            none for them; with a part of a layer's weights, it does not fit.
        fresh: Names of layers that always keep their initial values.
        pickled: Whether to accept the old `pytorch_model.bin` of a folder; no code in it is run.

    Returns:
        The paths of the variables that kept their initial values.

    Raises:
        ValueError: A file is missing or damaged, two tensors are for one weight, or the tensors do not fit: the message
            then lists missing and unknown tensors, and tensors with another shape or without floats (integers). No
            variable has changed.
    """
    if not isinstance(stored, Stored):
        stored = find_stored(Path(stored), UserOptions(pickled=pickled))
    fit = _fit(model, stored)
    kept = assign.assign(model, fit.tensors, missing_ok=missing_ok, fresh=fresh, **fit.options)
    stray.warn_unused((fit.tensors[name].name for name in fit.options["spare"]), stored.source)
    return kept


def fitting_tensors(model: keras.Model, stored: Stored, is_bare: bool = False) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint that `transformers` needs, in its layouts, after checking that they fit.

    Args:
        model: Model made from the configuration of the checkpoint; it needs no memory for its weights.
        stored: The checkpoint.
        is_bare: Whether it is of a model without head, so that the heads of `model` may be missing.

    Returns:
        The tensors by their names in current `transformers`: of all heads, but not constants, copies of tied weights
        and tensors beside the model. No value has been read.

    Raises:
        ValueError: As for `load_weights`.
    """
    fit, names = _fit(model, stored, is_bare), _names_of(stored)
    heads = {layer for layers in names.architectures.values() for layer in layers}
    assign.plan(model, fit.tensors, missing_ok=heads if is_bare else (), **fit.options)
    left = {*fit.options["spare"], *(copy for copy, name in fit.copies.items() if name in fit.tensors)}
    stray.warn_unused((fit.tensors[name].name for name in fit.options["spare"]), stored.source)
    tensors = {
        name: tensor
        for name, tensor in fit.tensors.items()
        if tensor.is_weight and name not in left and not re.fullmatch(names.redundant, name)
    }
    return reshape_back(join(tensors, names, stored.config), names)


class _Fit(NamedTuple):
    """The arguments of `assign.assign`, tensors and options; and which tensors are copies of which."""

    tensors: dict[str, Tensor]
    options: dict[str, Any]
    copies: dict[str, str]


def _names_of(stored: Stored) -> Names:
    return names_of(stored.config, stored.place, stored.extra["architecture"])


def _fit(model: keras.Model, stored: Stored, is_bare: bool = False) -> _Fit:
    names = _names_of(stored)
    if not stored.config.tie_embeddings:
        names = names._replace(
            copies={copy: name for copy, name in names.copies.items() if not _is_output(copy, names)}
        )
    listed = stored.tensors()
    stray.check_merged(listed, stored.source)
    tensors = by_name(((modern_name(tensor.name, names), tensor) for tensor in listed), stored.source)
    tensors = tensors if is_bare else stray.with_fallbacks(tensors, names, stored.config)
    tensors = reshape(split(tensors, names, stored.config, stored.source), names)
    _check_copies(tensors, names, stored.source)
    used = {their_name(weight.path, names)[0] for weight in model.weights}
    options = {
        "locate": lambda path: their_name(path, names),
        "may_stay": lambda name: _may_stay(name, tensors, names, used),
        "spare": stray.beside(tensors, names) - used,
        "source": stored.source,
    }
    return _Fit(tensors, options, names.copies)


def _is_output(copy: str, names: Names) -> bool:
    """Return whether a copy of a tied weight is the language model's output matrix."""
    return "lm_head" in copy or copy == f"{names.weights.get('lm_head')}.weight"


def check_size(stored: Stored) -> None:
    """Refuse a configuration that asks for more weights than its checkpoint holds: see `assign.check_size`."""
    assign.check_size(stored.config, stored.tensors, stored.source)


def _may_stay(name: str, tensors: dict[str, Tensor], names: Names, used: set[str]) -> bool:
    if ".weight_scale" in name:  # 8-bit floats would have to be multiplied by it
        return False
    tensor, layer = tensors[name], name.removesuffix(".bias")
    is_of_other_head = name.startswith(names.optional) and (layer == name or f"{layer}.weight" not in used)
    if is_of_other_head or re.fullmatch(names.redundant, name) or name in names.copies:
        return True
    return name.endswith("bias") and tensor.is_weight and not tensor.read().any()  # a zero bias may stay unused


def _check_copies(tensors: dict[str, Tensor], names: Names, source: str) -> None:
    """Check that stored copies of a tied weight equal it: otherwise the model would silently compute other results.

    If only a copy is stored, it is used as the weight.
    """
    for copy, name in names.copies.items():
        if copy in tensors:
            tensors.setdefault(name, tensors[copy])
        if copy in tensors and tensors[name].is_weight and not tensors[copy].equals(tensors[name]):
            remedy = "A model with separate weights is not supported."
            if _is_output(copy, names) and "tie_embeddings" in names.fields:
                remedy = 'If they are not tied, write "tie_word_embeddings": false in config.json.'
            raise ValueError(
                f"{source}: {copy} differs from {name}, but the model has one weight for both: nothing was loaded. "
                f"{remedy}"
            )
