"""Checks of texts before they are encoded, and of encoded rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keras_transformers.utils.untrusted import shown

if TYPE_CHECKING:
    import tokenizers

SURROGATE = re.compile("[\ud800-\udfff]")


def listed(values: Any, is_ordered: bool = True) -> list | None:
    """Convert values, one per row, to a list; return None for anything else: one str, a dict, a number.

    Raises:
        ValueError: They are a table, whose iteration gives the names of the columns; or a set, if the order matters.

    Example:

    >>> listed(iter("ab")), listed("ab"), listed(5)
    (['a', 'b'], None, None)
    """
    if isinstance(values, (str, bytes, Mapping)):
        return None
    if any(hasattr(values, name) for name in ("columns", "column_names", "schema")):  # a table of any library
        columns = [*getattr(values, "columns", getattr(values, "column_names", ()))]
        raise ValueError(
            f"expected one column, such as df['text']: received a {type(values).__name__} with the columns "
            f"{shown(columns)}."
        )
    if is_ordered and isinstance(values, (set, frozenset)):
        raise ValueError(f"expected a list, one value a row: received a {type(values).__name__}, which has no order.")
    try:
        values = iter(values)
    except TypeError:
        return None
    return list(values)


def check_texts(name: str, texts: Any, is_ordered: bool = True) -> list[str]:
    """Return the texts as a list; raise if they are no list, one str, not all str, or not valid Unicode."""
    if isinstance(texts, str):
        raise ValueError(f"Expected a list of str for `{name}`, received one str. Pass [text].")
    rows = listed(texts, is_ordered)
    if rows is None:
        raise ValueError(f"Expected a list of str for `{name}`, received {type(texts).__name__}.")
    if getattr(texts, "ndim", 1) > 1:
        shape = getattr(texts, "shape", None)
        raise ValueError(f"Expected one column of str for `{name}`, such as texts[:, 0]: received {shape}.")
    for row, text in enumerate(rows):
        check_text(name, text, row)
    return rows


def check_text(name: str, text: str, row: int) -> str:
    """Return the text; raise a `ValueError` that names its row if it is not a str, or has a lone surrogate."""
    if not isinstance(text, str):
        raise ValueError(f"Expected a list of str for `{name}`, received {type(text).__name__} at row {row}.")
    surrogate = None if text.isascii() else SURROGATE.search(text)
    if surrogate:
        raise ValueError(
            f"`{name}`: the text at row {row} has the lone surrogate {surrogate[0]!r} at character "
            f"{surrogate.start()}, which is no character. "
            'Read the file with errors="replace", or put U+FFFD in its place: '
            'text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").'
        )
    return text


def check_lengths(encodings: list[tokenizers.Encoding], max_length: int | None) -> None:
    """Raise a `ValueError` if a row has more than max_length tokens."""
    lengths = [len(encoding) for encoding in encodings]
    if max_length is not None and max(lengths, default=0) > max_length:
        row = lengths.index(max(lengths))
        raise ValueError(
            f"Row {row} has {lengths[row]} tokens, more than max_length={max_length}. Shorten the text, raise "
            'max_length, or allow cutting: truncation="longest_first", or a stride for several windows.'
        )
