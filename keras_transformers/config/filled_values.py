"""The fields of a configuration that follow from others where they are not given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.config.block_options import make_block_options
from keras_transformers.config.rotary_scaling import make_scaling
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

BIASES = ("attention_bias", "attention_output_bias", "feed_forward_bias", "intermediate_bias", "norm_bias")


def fill_values(config: Any, use_bias: bool) -> None:
    """Fill in the fields that are None and follow from others, and convert lists to tuples.

    Args:
        config: A `TransformerConfig` that is being made.
        use_bias: Value of the biases that are None.

    Raises:
        ValueError: A list is none, or the width is not divisible by the number of heads.
    """
    if isinstance(config.eos_ids, str) or not isinstance(config.eos_ids, Sequence):
        raise ValueError(f"eos_ids must be a list of token ids: received {shown(config.eos_ids)}.")
    _set(config, "eos_ids", tuple(config.eos_ids))
    if isinstance(config.positions, (list, tuple)):
        kinds = tuple(config.positions)
        _set(config, "positions", kinds if len(kinds) > 1 else next(iter(kinds), None))
    if config.block_options != ():
        _set(config, "block_options", make_block_options(config.block_options))
    if config.rotary_scaling is not None:
        _set(config, "rotary_scaling", make_scaling(config.rotary_scaling))
    if config.embedding_norm is None:
        _set(config, "embedding_norm", config.norm_order == "post")
    if config.kind == "encoder_decoder" and config.num_decoder_layers is None:
        _set(config, "num_decoder_layers", config.num_layers)
    if config.pad_id is None and config.kind != "decoder":
        _set(config, "pad_id", 0)
    if config.num_kv_heads is None:
        _set(config, "num_kv_heads", config.num_heads)
    if config.head_dim is None:
        if not (is_size(config.hidden_dim) and is_size(config.num_heads)) or config.hidden_dim % config.num_heads:
            raise ValueError(
                "hidden_dim and num_heads must be whole numbers, one divisible by the other: received hidden_dim="
                f"{shown(config.hidden_dim)}, num_heads={shown(config.num_heads)}. Choose others or give head_dim."
            )
        _set(config, "head_dim", config.hidden_dim // config.num_heads)
    _fill_biases(config, use_bias)


def _fill_biases(config: Any, use_bias: bool) -> None:
    if not isinstance(use_bias, bool):
        raise ValueError(f"use_bias must be True or False: received {shown(use_bias)}.")
    if not use_bias:  # True may be the default
        check_use_bias(config, {"use_bias": False, **{name: getattr(config, name) for name in BIASES}})
    sources = dict.fromkeys(BIASES, use_bias)
    if config.attention_bias is not None:
        sources["attention_output_bias"] = config.attention_bias
    if config.feed_forward_bias is not None:
        sources["intermediate_bias"] = config.feed_forward_bias
    for name, source in sources.items():
        if getattr(config, name) is None:
            _set(config, name, source)
    if config.norm != "layer":
        _set(config, "norm_bias", False)


def check_use_bias(config: Any, given: Mapping[str, Any]) -> None:
    """Refuse a `use_bias` among given values that contradicts the biases, where all of them are given, too."""
    biases = {name: given.get(name) for name in BIASES}
    if None not in biases.values() and given.get("use_bias", has_biases(config)) != has_biases(config):
        use_bias = given["use_bias"]
        raise ValueError(
            f"use_bias is for biases that are not given: received use_bias={use_bias} and {biases}. Leave use_bias "
            f"out, or call replace(use_bias={use_bias}) on the configuration."
        )


def has_biases(config: Any) -> bool:
    """Return whether all dense layers of blocks have biases: `use_bias` of a `TransformerConfig`."""
    return all(getattr(config, name) for name in BIASES if name != "norm_bias")


def _set(config: Any, name: str, value: Any) -> None:
    object.__setattr__(config, name, value)
