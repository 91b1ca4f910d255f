"""Ids of special tokens in a config.json that mean no token, or one that the vocabulary does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown, warn_user

NONE = -1  # what some programs write for no token


def possible_ids(fields: dict[str, Any], path: Path, warn: bool = True) -> dict[str, Any]:
    """Drop the ids that can never be: -1, and tokens to begin and to end with that the vocabulary does not have.

    `transformers` passes over them, too: no text has such a token. Padding that is no token, and where a decoder
    begins, are left for the configuration to refuse: texts are made of them.

    Args:
        fields: Fields of a `TransformerConfig`.
        path: Path of the config.json, for the warning.
        warn: Whether to warn of tokens that the vocabulary does not have.

    Example:

    >>> possible_ids({"vocabulary_size": 9, "pad_id": -1, "eos_ids": [2, -1]}, Path("config.json"))
    {'vocabulary_size': 9, 'eos_ids': (2,)}
    """
    fields, size = dict(fields), fields.get("vocabulary_size", 0)
    if not is_size(size):
        return fields
    if _is_none(fields.get("pad_id")) and "decoder_start_id" not in fields:
        del fields["pad_id"]
    dropped = [fields["bos_id"]] if _is_impossible(fields.get("bos_id"), size) else []
    if dropped:
        del fields["bos_id"]
    if isinstance(ends := fields.get("eos_ids"), (list, tuple)):
        fields["eos_ids"] = tuple(number for number in ends if not _is_impossible(number, size))
        dropped += [number for number in ends if _is_impossible(number, size)]
    unknown = [number for number in dropped if number != NONE]
    if warn and unknown:
        warn_user(
            f"{path} names start or end tokens that its vocabulary of {size} does not have: "
            f"{shown(unknown)}. They are left out, as no text can have them.",
        )
    return fields


def _is_none(number: Any) -> bool:
    return type(number) is int and number == NONE


def _is_impossible(number: Any, size: int) -> bool:
    return type(number) is int and (number == NONE or number >= size)
