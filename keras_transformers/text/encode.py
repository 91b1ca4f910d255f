"""Encoding of texts with the `tokenizers` library: length limits, windows, and clear errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tokenizers

from keras_transformers.text.encoded import Encoded
from keras_transformers.text.pipelines.library import Guard
from keras_transformers.text.vocabularies.byte_pair_vocabulary import UNKNOWN
from keras_transformers.utils.text_checks import check_lengths

TRUNCATIONS = ("longest_first", "only_first", "only_second", "error")


def encode(
    library: tokenizers.Tokenizer,
    guard: Guard,
    texts: list[str],
    pairs: list[str] | None,
    max_length: int | None,
    truncation: str,
    special_tokens: bool,
    stride: int,
) -> list[Encoded]:
    """Implement `Tokenizer.encode`, for texts and pairs that have been checked."""
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"Received {len(texts)} texts and {len(pairs)} pairs. Expected one pair for each text.")

    options = _truncation_options(library, max_length, truncation, stride, pairs is not None, special_tokens)
    inputs = texts if pairs is None else list(zip(texts, pairs, strict=True))
    try:
        with guard(options):
            encodings = library.encode_batch(inputs, add_special_tokens=special_tokens)
    except ValueError:
        raise
    except Exception as error:  # the library raises bare Exception: "Sequence to truncate too short ..."
        if "WordLevel" in str(error):
            raise _unknown_characters(library, [*texts, *(pairs or ())]) from error
        raise ValueError(
            f"Cannot cut every row to max_length={max_length} with truncation={truncation!r}: the other text alone "
            f'is too long. Use "longest_first" or a larger max_length. ({error})'
        ) from error

    if truncation == "error":
        check_lengths(encodings, max_length)
    windows = [[one, *one.overflowing] if stride else [one] for one in encodings]
    return [Encoded(one, row, guard.has_types, guard.side) for row, of_row in enumerate(windows) for one in of_row]


def _unknown_characters(library: tokenizers.Tokenizer, texts: Sequence[str]) -> ValueError:
    """Return the error for characters that a character-level vocabulary lacks."""
    vocabulary = library.get_vocab()
    unknown = sorted(set().union(*texts) - vocabulary.keys())
    return ValueError(
        f"The characters {unknown[:5]} are not in the vocabulary of {max(vocabulary.values()) + 1}, nor is "
        f"{UNKNOWN}. Remove them, or train with special_tokens=[{UNKNOWN!r}]."
    )


def _truncation_options(
    library: tokenizers.Tokenizer,
    max_length: int | None,
    truncation: str,
    stride: int,
    is_pair: bool,
    special_tokens: bool,
) -> dict[str, Any] | None:
    """Return the arguments of the library's `enable_truncation`; None for no truncation."""
    if truncation not in TRUNCATIONS:
        raise ValueError(f"Unknown truncation {truncation!r}. Expected one of {list(TRUNCATIONS)}.")
    if truncation == "only_second" and not is_pair:
        raise ValueError('truncation="only_second" needs `pairs`. Pass them, or use "only_first".')

    if max_length is None:
        if stride:
            raise ValueError(f"stride={stride} needs a max_length: it is the length of the windows.")
        return None

    added = library.num_special_tokens_to_add(is_pair) if special_tokens else 0
    if max_length <= added:
        raise ValueError(f"max_length={max_length} leaves no room for text beside {added} special tokens.")
    if not 0 <= stride < max_length - added:
        raise ValueError(
            f"stride={stride} with max_length={max_length} and {added} special tokens: "
            f"expected 0 <= stride < {max_length - added}, or the windows would not advance."
        )
    return None if truncation == "error" else {"max_length": max_length, "stride": stride, "strategy": truncation}
