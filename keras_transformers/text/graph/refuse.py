"""The error for what cannot be compiled into TensorFlow ops."""

from __future__ import annotations

from collections.abc import Iterable


def refuse(part: str, name: object, known: Iterable[object]) -> ValueError:
    """The error for a component, or an option of one, that cannot be compiled."""
    return ValueError(
        f"The {part} {name!r} of this tokenizer.json cannot be compiled into TensorFlow ops. "
        f"Expected one of {list(known)}. Tokenise in Python, or write the component (text/graph)."
    )
