"""Limits of a configuration's values and of a model's size."""

from __future__ import annotations

from typing import Any

MOST = 2**31 - 1  # rows, positions and widths: ids and shapes are int32
MOST_BLOCKS = 1000  # in a stack, as in DeepNet, the deepest published: Wang et al. 2022, arXiv 2203.00555
# Ten times the largest models published (10^12, as Switch Transformers): 40 TB in float32, more than machines hold.
MOST_WEIGHTS = 10**13


def check_limits(config: Any) -> None:
    """Refuse a configuration of an impossible size, before a model is built from it.

    Args:
        config: A `TransformerConfig` whose sizes are positive integers.

    Raises:
        ValueError: The model has more than ten times the weights of the largest published.
    """
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
