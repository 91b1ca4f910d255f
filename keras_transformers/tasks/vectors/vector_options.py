"""Checks of the options that say how a vector is made, and at which widths it is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.checkpoints.settings.sentence_layers import ACTIVATIONS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.text_vectors import POOLINGS
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.text.pad_token import with_pad_token
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.number_checks import is_finite, is_size
from keras_transformers.utils.untrusted import shown

MOST_LAYERS = 7  # the folder of the last one, and of what follows, has one digit
NEW_LAYERS = tuple(f"vector_{kind}_{number}" for kind in ("dense", "norm") for number in range(MOST_LAYERS))
OPTIONS = {"dense": {"units", "activation", "use_bias"}, "layer_norm": set(), "normalize": set(), "dropout": {"rate"}}


def check_pooling(pooling: Any) -> list[str]:
    """Return the ways of pooling as a list; raise a `ValueError` for an unknown one, or one that is named twice."""
    ways = [pooling] if isinstance(pooling, str) else pooling
    is_list = isinstance(ways, (list, tuple)) and ways and all(isinstance(way, str) for way in ways)
    if not is_list or not {*ways} <= {*POOLINGS} or len({*ways}) < len(ways):
        raise ValueError(
            f"pooling must be one of {sorted(POOLINGS)}, or a list of several, side by side: received {shown(pooling)}."
        )
    return [*ways]


def check_static(config: TransformerConfig, ways: list[str], include_prompt: Any) -> None:
    """Refuse another pooling than the mean of all tokens for a model of their vectors alone, which could not be saved.

    Other models are passed over.
    """
    if config.mixer == "none" and (ways != ["mean"] or include_prompt is not True):
        raise ValueError(
            "in a model without blocks, the vector of a text is the mean of the vectors of all its tokens, prompts "
            f"included: received pooling={shown(ways)}, include_prompt={shown(include_prompt)}. Leave them out."
        )


def check_layers(dense: Any) -> list[dict[str, Any]]:
    """Return the options of layers behind the pooling, with all keys; raise a `ValueError` for others."""
    expected = (
        f'dense must be a list of at most {MOST_LAYERS} layers, such as [{{"units": 256, "activation": "tanh", '
        '"use_bias": True}, {"layer": "layer_norm"}, {"layer": "normalize"}, {"layer": "dropout", "rate": 0.1}]'
    )
    if not isinstance(dense, (list, tuple)) or len(dense) > MOST_LAYERS:
        raise ValueError(f"{expected}: received {shown(dense)}.")
    if wrong := [options for options in dense if not _is_layer(options)]:
        raise ValueError(f"{expected}: received {shown(wrong[0])}.")
    return [_with_defaults(options) for options in dense]


def _is_layer(options: Any) -> bool:
    """Return whether a dict has the options of a layer, and no others."""
    if not isinstance(options, Mapping) or (kind := options.get("layer", "dense")) not in [*OPTIONS]:
        return False
    if not options.keys() - {"layer"} <= OPTIONS[kind]:
        return False
    if kind == "dropout":
        return is_finite(options.get("rate")) and 0 <= options["rate"] < 1
    return kind != "dense" or (is_size(options.get("units")) and isinstance(options.get("use_bias", True), bool))


def _with_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a layer with those that were left out."""
    if options.get("layer", "dense") != "dense":
        return dict(options)
    if options.get("activation", "linear") not in [*ACTIVATIONS]:
        raise ValueError(f"the activation of a dense layer is one of {[*ACTIVATIONS]}: received {shown(options)}.")
    options = {name: value for name, value in options.items() if name != "layer"}
    return {"activation": "linear", "use_bias": True, **options, "units": int(options["units"])}


def width_of(layers: Sequence[Mapping[str, Any]], width: int) -> int:
    """Return the numbers of a vector behind layers, from those before them.

    Example:

    >>> width_of([{"units": 4}, {"layer": "normalize"}], 8), width_of([], 8)
    (4, 8)
    """
    return next((options["units"] for options in reversed(layers) if "units" in options), width)


def check_truncation(truncate_dim: Any, dim: int | None = None) -> int | None:
    """Return a number of kept numbers of a vector, or None; raise a `ValueError` for more than its `dim`, if known."""
    if truncate_dim is None:
        return None
    if not is_size(truncate_dim) or (dim is not None and truncate_dim > dim):
        raise ValueError(
            f"truncate_dim must be in [1, {dim or 'D'}], the numbers of a vector: received {shown(truncate_dim)}."
        )
    return int(truncate_dim)


def check_widths(widths: Any, dim: int | None = None) -> dict[int, float]:
    """Return the weight of each width at which vectors are learned; raise a `ValueError` for others."""
    example = [256, 64] if dim is None else [dim, -(-dim // 2)]
    expected = (
        f"matryoshka must be a list of different widths in [1, {dim or 'D'}], such as {example}, or "
        "a dict from widths to weights above 0"
    )
    is_list = isinstance(widths, (Mapping, Sequence)) and not isinstance(widths, str)
    if not is_list or not all(map(is_size, widths)) or len({*map(int, widths)}) < len(widths):
        raise ValueError(f"{expected}: received {shown(widths)}.")
    weights = dict(widths) if isinstance(widths, Mapping) else dict.fromkeys(widths, 1.0)
    has_weights = all(is_finite(weight) and weight > 0 for weight in weights.values())
    if not weights or not has_weights or (dim is not None and max(weights) > dim):
        raise ValueError(f"{expected}: received {shown(widths)}.")
    return {int(width): float(weight) for width, weight in weights.items()}


def padded_tokenizer(setup: Setup) -> Tokenizer:
    """Return the tokenizer with padding, which sentence-transformers needs: decoders often have none."""
    config, tokenizer = setup.config, setup.tokenizer
    return with_pad_token(tokenizer, (config.pad_id, *config.eos_ids)) if config.kind == "decoder" else tokenizer
