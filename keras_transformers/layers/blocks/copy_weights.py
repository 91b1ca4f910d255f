"""Weights of layers of Keras and keras_hub in layers of this library, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.layers.attention.attention import Attention
from keras_transformers.layers.blocks.feed_forward import FeedForward
from keras_transformers.layers.blocks.sublayers import SublayerBlock
from keras_transformers.utils.keras_private import hub_sublayer, kernel

Option = tuple[str, Any, Any]  # its name here, the value there, the value here
Part = tuple[str, Any, Any]  # the name of an inner layer, the layer there, the layer here
# Inner layers of keras_hub's blocks by the names of ours.
SUBLAYERS = {
    "attention": "self_attention_layer",
    "attention_norm": "self_attention_layer_norm",
    "cross_attention": "cross_attention_layer",
    "cross_attention_norm": "cross_attention_layer_norm",
    "feed_forward_norm": "feedforward_layer_norm",
    "intermediate": "feedforward_intermediate_dense",
    "output": "feedforward_output_dense",
}
NORM_ORDERS = {True: "pre", False: "post"}  # by keras_hub's `normalize_first`


def copy_weights(source: keras.layers.Layer, target: keras.layers.Layer) -> None:
    """Copy the weights of a layer of Keras or keras_hub to a layer of this library, or the other way round.

    The pairs: `keras.layers.MultiHeadAttention` (keras_hub's `CachedMultiHeadAttention`, too) and `Attention`;
    `keras_hub.layers.TransformerEncoder` and `EncoderBlock`; `keras_hub.layers.TransformerDecoder` and `DecoderBlock`.
    Then both compute the same. Rates of dropout may differ. For layers with one table, such as embeddings, use
    `target.set_weights(source.get_weights())`.

    Args:
        source, target: Two layers of a pair, both built, by a call or by `build`.

    Raises:
        ValueError: The layers are no pair, one is not built, or they differ in an option that changes the output: each
            is named. Nothing is copied then.

    Example:

    >>> theirs, ours = keras.layers.MultiHeadAttention(num_heads=2, key_dim=4), Attention(num_heads=2)
    >>> x = np.ones((1, 3, 8), "float32")
    >>> expected, _ = theirs(x, x), ours(x)
    >>> copy_weights(theirs, ours)
    >>> np.allclose(ours(x), expected, atol=1e-6)
    True
    """
    are_ours = [isinstance(layer, (Attention, SublayerBlock)) for layer in (source, target)]
    if are_ours.count(True) != 1:
        raise ValueError(
            "copy_weights takes a layer of Keras or keras_hub and one of this library: received a "
            f"{type(source).__name__} and a {type(target).__name__}. Between layers of one kind: "
            "target.set_weights(source.get_weights())."
        )
    for layer in (source, target):
        if not layer.built:
            raise ValueError(f"{layer.name} has no weights yet. Call it once, or build it, before copy_weights.")
    theirs, ours = (target, source) if are_ours[0] else (source, target)
    parts = [*_parts(theirs, ours)]
    _check_options([option for part in parts for option in _options(*part)], theirs, ours)

    weights = [pair for _, their_part, our_part in parts for pair in _weights(their_part, our_part)]
    for their_weight, our_weight in weights:
        if np.prod(their_weight.shape) != np.prod(our_weight.shape):
            raise ValueError(
                f"{our_weight.path} {tuple(our_weight.shape)} does not fit {their_weight.path} "
                f"{tuple(their_weight.shape)}: the layers are built for inputs of other widths."
            )
    for their_weight, our_weight in weights:
        read, written = (our_weight, their_weight) if are_ours[0] else (their_weight, our_weight)
        written.assign(ops.reshape(read.value, written.shape))


def _parts(theirs: Any, ours: Any) -> Iterator[Part]:
    """Yield the layers that have weights or options; a block itself is the first of its parts."""
    if isinstance(ours, Attention):
        if not isinstance(theirs, keras.layers.MultiHeadAttention):
            raise ValueError(f"Attention pairs with keras.layers.MultiHeadAttention: received a {_name(theirs)}.")
        yield "attention", theirs, ours
        return
    sublayers = {name: hub_sublayer(theirs, private) for name, private in SUBLAYERS.items()}
    kind = "TransformerDecoder" if hasattr(ours, "cross_attention") else "TransformerEncoder"
    if sublayers["attention"] is None or not any(cls.__name__ == kind for cls in type(theirs).__mro__):
        raise ValueError(f"{_name(ours)} pairs with keras_hub.layers.{kind}: received a {_name(theirs)}.")
    yield "block", theirs, ours
    yield from (
        (name, their_part, getattr(ours, name)) for name, their_part in sublayers.items() if hasattr(ours, name)
    )
    inner = ours.feed_forward
    if isinstance(inner, FeedForward):
        yield "intermediate", sublayers["intermediate"], inner.intermediate
        yield "output", sublayers["output"], inner.output_dense


def _options(part: str, theirs: Any, ours: Any) -> list[Option]:
    """Return the options of two layers that must be equal."""
    if theirs is None or ours is None:
        return [(part, _name(theirs), _name(ours))] if theirs is not ours else []
    if isinstance(ours, Attention):
        return _attention_options(theirs, ours)
    if isinstance(ours, SublayerBlock):
        return _block_options(theirs, ours)
    if isinstance(ours, keras.layers.Dense):
        return [("use_bias", theirs.bias is not None, ours.bias is not None), *_adapted(theirs, ours)]
    names = [(cls.__name__, layer) for cls, layer in ((type(theirs), theirs), (type(ours), ours))]
    options = [("norm", names[0][0], names[1][0]), ("epsilon", theirs.epsilon, ours.epsilon)]
    their_offset, our_offset = (getattr(layer, "beta", None) is not None for layer in (theirs, ours))
    return [*options, ("norm_bias", their_offset, our_offset)]


def _attention_options(theirs: Any, ours: Attention) -> list[Option]:
    there, width = theirs.get_config(), ours.output_dense.units
    window = there.get("sliding_window")
    axes, shape = there["attention_axes"], there["output_shape"]
    return [
        ("num_heads", there["num_heads"], ours.num_heads),
        ("num_kv_heads", there["num_heads"], ours.num_kv_heads),
        ("head_dim", there["key_dim"], ours.head_dim),
        ("value_dim", there["value_dim"], ours.value_dim or ours.head_dim),
        ("scale", there["key_dim"] ** -0.5, ours.score_scale()),
        ("window", (None, None) if window is None else (window - 1, window - 1), tuple(ours.window)),
        ("soft_cap", None, ours.soft_cap),
        ("head_norm", None, ours.head_norm),
        ("use_gate", there.get("use_gate", False), False),
        ("output_shape", (width,) if shape is None else tuple(shape), (width,)),
        ("attention_axes", (1,) if axes is None else tuple(axes), (1,)),
        *(option for pair in _dense_pairs(theirs, ours) for option in _options("dense", *pair)),
    ]


def _block_options(theirs: Any, ours: Any) -> list[Option]:
    there, inner = theirs.get_config(), ours.feed_forward
    options = [
        ("norm_order", NORM_ORDERS[there["normalize_first"]], ours.norm_order),
        ("parallel", False, ours.parallel),
        ("residual_scale", 1.0, ours.residual_scale),
        ("feed_forward_class", "FeedForward", type(inner).__name__),
    ]
    if not isinstance(inner, FeedForward):
        return options
    points = ops.convert_to_tensor(np.linspace(-4, 4, 33, dtype="float32"))
    curve, our_curve = (ops.convert_to_numpy(each(points)) for each in (theirs.activation, inner.activation))
    if not np.allclose(curve, our_curve, atol=1e-6):
        name, our_name = (getattr(each, "__name__", str(each)) for each in (theirs.activation, inner.activation))
        options.append(("activation", name, our_name))
    sizes = ("intermediate_dim", there["intermediate_dim"], inner.intermediate_dim), ("gated", False, inner.gated)
    return [*options, *sizes]


def _adapted(theirs: Any, ours: Any) -> list[Option]:
    """Return what changes a dense layer after it was built: adapters, and integers in place of its matrix."""
    names = ("lora_rank", "quantization_mode")
    return [(name, None, found) for name in names for one in (theirs, ours) if (found := getattr(one, name, None))]


def _check_options(options: list[Option], theirs: Any, ours: Any) -> None:
    differ = {name: (there, here) for name, there, here in options if not _equal(there, here)}
    if differ:
        listed = "; ".join(f"{name} {there!r} and {here!r}" for name, (there, here) in differ.items())
        raise ValueError(
            f"the options of {_name(theirs)} and {_name(ours)} differ, in the words of {_name(ours)}: {listed}. "
            "Make one with the options of the other."
        )


def _equal(there: Any, here: Any) -> bool:
    return bool(np.isclose(there, here, rtol=1e-6, atol=0)) if isinstance(there, float) else there == here


def _weights(theirs: Any, ours: Any) -> list[tuple[Any, Any]]:
    """Return the weights of two layers, in pairs; none for a block, whose parts have them."""
    if isinstance(ours, Attention):
        return [pair for dense in _dense_pairs(theirs, ours) for pair in _weights(*dense)]
    if theirs is None or isinstance(ours, SublayerBlock):
        return []
    if isinstance(ours, keras.layers.Dense):
        pairs = [(kernel(theirs), kernel(ours)), (theirs.bias, ours.bias)]
    else:
        pairs = [(theirs.gamma, ours.gamma), (theirs.beta, ours.beta)]
    return [pair for pair in pairs if pair[0] is not None]


def _dense_pairs(theirs: Any, ours: Attention) -> list[tuple[Any, Any]]:
    dense = {name: getattr(ours, name) for name in ("query", "key", "value")} | {"output": ours.output_dense}
    return [(getattr(theirs, f"{name}_dense"), layer) for name, layer in dense.items()]


def _name(layer: Any) -> str:
    return "none" if layer is None else type(layer).__name__
