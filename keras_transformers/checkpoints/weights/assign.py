"""Assign the tensors of a checkpoint to the variables of a model: all of them, or none."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import keras

from keras_transformers.checkpoints.files.tensors import FLOAT8, FLOATS, Tensor
from keras_transformers.config.limits import least_weights
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.text.tokenizer import check_texts
from keras_transformers.utils.keras_private import set_value

SHOWN = 12
SMALL = 10**8  # weights: 400 MB in float32
NO_WEIGHTS = f"not {', '.join(FLOATS.values())} (a quantized checkpoint must be dequantized first)"


def assign(
    model: keras.Model, tensors: Mapping[str, Tensor], locate: Callable[[str], tuple[str, bool]], **options: Any
) -> tuple[str, ...]:
    """Assign a tensor to every variable of a model, after checking that all of them fit; see `plan`.

    Returns:
        The paths of the variables that kept their initial values.
    """
    assigned, kept = plan(model, tensors, locate, **options)
    # The largest first: while one is converted, it is in memory more than once.
    for variable, tensor, transposed in sorted(assigned, key=lambda item: -math.prod(item[1].shape)):
        set_value(variable, _value(tensor, transposed, variable.dtype))
    return tuple(kept)


def _value(tensor: Tensor, transposed: bool, dtype: str) -> Any:
    """Return the values of a stored tensor in another dtype; at no time there are two copies besides the result."""
    array = tensor.read()
    array = array.astype("float16") if tensor.dtype == FLOAT8 else array  # exact; backends may not have 8-bit floats
    value = keras.ops.array(array)  # a copy: JAX would keep the mapped file
    tensor.release()
    value = keras.ops.transpose(value) if transposed else value
    return keras.ops.cast(value, dtype)


def plan(
    model: keras.Model,
    tensors: Mapping[str, Tensor],
    locate: Callable[[str], tuple[str, bool]],
    *,
    missing_ok: Iterable[str] = (),
    fresh: Iterable[str] = (),
    may_stay: Callable[[str], bool] = lambda name: False,
    spare: Collection[str] = (),
    source: Any = "the checkpoint",
) -> tuple[list[tuple[keras.Variable, Tensor, bool]], list[str]]:
    """Find a tensor for every variable of a model, and check that all of them fit; no value is read.

    Args:
        model: A built model.
        tensors: Tensors by name.
        locate: Function from a variable's path to the name of its tensor and whether that is stored transposed.
        missing_ok: Names of layers that keep their initial values if the checkpoint lacks all of their weights.
        fresh: Names of layers that always keep their initial values.
        may_stay: Function that returns, for a tensor's name, whether the model may leave it unused.
        spare: Names of tensors that it may leave unused if it lacks none; else they are reported, too.
        source: Name of the checkpoint in error messages.

    Returns:
        Variables, each with its tensor and whether this is stored transposed; and the paths of the variables that keep
        their initial values.

    Raises:
        ValueError: Tensors are missing, have another shape, are not floats, or are unknown; the message lists them.
            Nothing has been assigned.
    """
    places = [(variable, *locate(variable.path)) for variable in model.weights]
    used = {name for _, name, _ in places}
    stored = {layer for variable, name, _ in places if name in tensors for layer in variable.path.split("/")}
    fresh_layers = set(check_texts("fresh", fresh, False))
    # A layer of which only a part is stored is damaged.
    optional_layers = fresh_layers | (set(check_texts("missing_ok", missing_ok, False)) - stored)
    assigned, kept, missing, misshaped, not_floats = [], [], [], [], []

    for variable, name, transposed in places:
        shape = tuple(variable.shape)
        tensor = tensors.get(name)
        kept_layers = fresh_layers if tensor else optional_layers
        if kept_layers.intersection(variable.path.split("/")):
            kept.append(variable.path)
        elif tensor is None:
            missing.append(f"{name} (for {variable.path} {shape})")
        elif (tensor.shape[::-1] if transposed else tensor.shape) != shape:
            misshaped.append(f"{tensor.name} is {tensor.shape}, for {variable.path} {shape}")
        elif not tensor.is_weight:
            not_floats.append(f"{tensor.name} is {tensor.dtype}, for {variable.path} {shape}")
        else:
            assigned.append((variable, tensor, transposed))

    unused = [name for name in tensors if name not in used and (missing or misshaped or name not in spare)]
    unexpected = [tensors[name].name for name in unused if not may_stay(name)]
    problems = {"missing": missing, "of another shape": misshaped, NO_WEIGHTS: not_floats, "unexpected": unexpected}
    _report(source, problems)

    return assigned, kept


def check_size(config: TransformerConfig, tensors: Callable[[], Iterable[Tensor]], source: Any) -> None:
    """Refuse a configuration that asks for more weights than a checkpoint holds, before a model is built.

    A small model is built all the same: the report of `assign` then says more.

    Args:
        config: Configuration of the checkpoint.
        tensors: Function that returns the tensors of the checkpoint.
        source: Name of the checkpoint in error messages.

    Raises:
        ValueError: It has more than 10^8 weights, and more than the checkpoint.
    """
    asked = least_weights(config)
    if asked <= SMALL:
        return
    width = config.embedding_dim or config.hidden_dim
    held = sum(math.prod(tensor.shape) for tensor in tensors())
    if asked > held:
        raise ValueError(
            f"{source} holds {held:,} weights, and its config.json asks for {asked:,} or more (such as "
            f"{config.vocabulary_size:,} rows of {width:,} for its tokens): nothing was loaded. Fetch the "
            "files of one model again; a quantized checkpoint must be dequantized first."
        )


def _report(source: Any, problems: dict[str, list[str]]) -> None:
    lines = []
    for kind, names in problems.items():
        if names:
            rest = [f"... and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
            lines += [f"{kind}:", *(f"  {name}" for name in [*sorted(names)[:SHOWN], *rest])]
    if lines:
        raise ValueError("\n".join([f"{source} does not fit the model; nothing was loaded.", *lines]))
