"""The sizes, rates and token ids of a configuration, checked and converted to Python numbers."""

from __future__ import annotations

from typing import Any

from keras_transformers.utils.number_checks import is_number, is_size, is_token_id
from keras_transformers.utils.untrusted import shown

OPTIONAL_SIZES = ("embedding_dim", "num_block_groups", "num_decoder_layers", "encoder_vocabulary_size",
                  "position_buckets", "max_distance")  # fmt: skip
RATES = ("dropout", "attention_dropout", "activation_dropout", "pooler_dropout", "classifier_dropout")
OPTIONAL_IDS = ("pad_id", "bos_id", "decoder_start_id")


def check_numbers(config: Any) -> None:
    """Check the sizes and rates of a configuration, and convert them to Python's int and float.

    Args:
        config: A `TransformerConfig` that is being made.

    Raises:
        ValueError: A size is not a positive integer, a rate is outside [0, 1), or heads cannot share keys.
    """
    optional = [name for name in OPTIONAL_SIZES if getattr(config, name) is not None]
    for name in ("vocabulary_size", "num_layers", "num_heads", "num_kv_heads", "head_dim", "hidden_dim",
                 "intermediate_dim", "max_length", "kernel_size", *optional):  # fmt: skip
        if not is_size(getattr(config, name)):
            raise ValueError(f"{name} must be a positive integer: received {shown(getattr(config, name))}.")
        _set(config, name, int(getattr(config, name)))  # Keras cannot write numpy scalars into a layer's config
    for name in RATES:
        if name == "classifier_dropout" and config.classifier_dropout is None:
            continue
        if not (is_number(getattr(config, name)) and 0 <= getattr(config, name) < 1):
            raise ValueError(f"{name} is a rate in [0, 1): received {shown(getattr(config, name))}.")
        _set(config, name, float(getattr(config, name)))
    if config.num_heads % config.num_kv_heads:
        raise ValueError(
            f"num_heads must be a multiple of num_kv_heads: received num_heads={config.num_heads}, "
            f"num_kv_heads={config.num_kv_heads}."
        )


def check_ids(config: Any) -> None:
    """Check the token ids of a configuration, and convert those that end a text to int.

    Args:
        config: A `TransformerConfig` that is being made.

    Raises:
        ValueError: An id is not in the vocabulary.
    """
    optional = {name: () if getattr(config, name) is None else (getattr(config, name),) for name in OPTIONAL_IDS}
    for name, ids in {"eos_ids": config.eos_ids, **optional}.items():
        if not all(is_token_id(number, config.vocabulary_size) for number in ids):
            raise ValueError(
                f"{name} must be a token id in [0, {config.vocabulary_size}): received {shown(getattr(config, name))}."
            )
    _set(config, "eos_ids", tuple(map(int, config.eos_ids)))
    if config.encoder_vocabulary_size and config.fill_id >= config.encoder_vocabulary_size:
        below = f"expected one in [0, {config.encoder_vocabulary_size}), the encoder's vocabulary"
        raise ValueError(f"pad_id is a token of both sides: {below}; received {config.pad_id}.")


def _set(config: Any, name: str, value: Any) -> None:
    object.__setattr__(config, name, value)
