"""Limits of a configuration's values and of a model's size."""

from __future__ import annotations

from typing import Any

from keras_transformers.utils.number_checks import is_finite, is_size
from keras_transformers.utils.untrusted import shown

MOST = 2**31 - 1  # rows, positions and widths: ids and shapes are int32
MOST_BLOCKS = 1000  # in a stack, as in DeepNet, the deepest published: Wang et al. 2022, arXiv 2203.00555
# Ten times the largest models published (10^12, as Switch Transformers): 40 TB in float32, more than machines hold.
MOST_WEIGHTS = 10**13
SWITCHES = ("final_dropout", "cross_attention", "gated", "use_bias", "tie_embeddings", "scale_outputs", "output_bias",
            "scale_embeddings", "embedding_norm", "head_bias")  # fmt: skip
RANGES = ("initializer_range", "embedding_initializer_range", "output_initializer_range")


def check_kinds(config: Any) -> None:
    """Check the fields of a configuration that are no sizes, rates, choices or ids.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: A value is of another type, not finite, or out of its range.
    """
    for name in SWITCHES:
        _check(config, name, isinstance(getattr(config, name), bool), "True or False")
    for name in ("norm_bias", "intermediate_bias"):
        value = getattr(config, name)
        _check(config, name, value is None or isinstance(value, bool), "True, False or None")
    for name in ("family", "activation", "pooler_activation"):
        _check(config, name, isinstance(getattr(config, name), str), "a str")
    for name in RANGES:
        value = getattr(config, name)
        _check(config, name, value in (None, "fan_in") or _is_at_least(value, 0), 'a number of 0 or more, or "fan_in"')
    scale, segments = config.attention_scale, config.num_segments
    _check(config, "attention_scale", scale is None or is_finite(scale), "a finite number")
    _check(config, "epsilon", _is_at_least(config.epsilon, 0), "a number of 0 or more")
    for name in ("max_wavelength", "rotary_scaling_factor"):
        _check(config, name, _is_at_least(getattr(config, name), 1e-9), "a positive number")
    _check(config, "num_segments", is_size(segments) or (segments == 0 and segments is not False), "an integer >= 0")
    offset = config.position_offset
    _check(config, "position_offset", is_size(offset) or (offset == 0 and offset is not False), "an integer >= 0")


def check_limits(config: Any) -> None:
    """Refuse a configuration with impossible sizes, before a model is built from it.

    Args:
        config: A `TransformerConfig` whose sizes are positive integers.

    Raises:
        ValueError: A size is above 2^31 - 1, there are more blocks than in the deepest model published, or more than
            ten times the weights of the largest.
    """
    for name in ("vocabulary_size", "encoder_vocabulary_size", "hidden_dim", "embedding_dim", "intermediate_dim",
                 "num_heads", "num_kv_heads", "head_dim", "max_length", "num_segments", "kernel_size",
                 "position_offset", "position_buckets", "max_distance"):  # fmt: skip
        _check(config, name, (getattr(config, name) or 0) <= MOST, f"at most {MOST}")
    for name in ("num_layers", "num_decoder_layers"):
        _check(config, name, (getattr(config, name) or 0) <= MOST_BLOCKS, f"at most {MOST_BLOCKS}")
    if (weights := least_weights(config)) > MOST_WEIGHTS:
        raise ValueError(
            f"the sizes of this configuration make at least {weights:.3g} weights; at most {MOST_WEIGHTS:.0e} are "
            "possible. Correct them."
        )


def most_tokens(config: Any) -> int:
    """Return the maximum length of a text: `max_length`, or `MOST` if positions are distances, which have no bound.

    Args:
        config: A `TransformerConfig`.
    """
    is_open = config.position_kinds and set(config.position_kinds) <= {"relative", "disentangled", "alibi"}
    return MOST if is_open else config.max_length


def least_weights(config: Any) -> int:
    """Return a lower bound of a model's number of weights: its large matrices, without heads and cross-attention.

    Args:
        config: A `TransformerConfig`.

    Example:

    >>> from keras_transformers.families import bert
    >>> least_weights(bert(30522, num_layers=12, num_heads=12, hidden_dim=768))  # of 109 million
    108770304
    """
    width, inner = config.hidden_dim, config.intermediate_dim
    blocks = (config.num_block_groups or config.num_layers) + (config.num_decoder_layers or 0)
    rows = config.vocabulary_size + (config.encoder_vocabulary_size or 0) + config.num_segments
    if "learned" in config.position_kinds:
        rows += config.max_length + config.position_offset
    rows += 2 * (config.position_buckets or 0)
    if config.mixer == "attention":
        heads = 2 * config.num_heads + 2 * config.num_kv_heads
        block = width * (config.head_dim * heads + inner * (3 if config.gated else 2))
    else:
        block = width * inner * (config.kernel_size if config.mixer == "convolution" else 1)
    return rows * (config.embedding_dim or width) + blocks * block


def _check(config: Any, name: str, is_right: bool, expected: str) -> None:
    if not is_right:
        raise ValueError(f"{name} must be {expected}: received {shown(getattr(config, name))}.")


def _is_at_least(value: Any, least: float) -> bool:
    return is_finite(value) and value >= least
