"""Safe use of the `tokenizers` library: panics become errors, and only one thread at a time changes its state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import tokenizers

PANIC = "PanicException"  # a BaseException that cannot be imported


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a `ValueError` where the library's Rust code panics; other exceptions pass unchanged."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise ValueError(
            f"The `tokenizers` library gave up: {error}. Most likely a pattern (Regex) in the normalizer or the "
            "pre_tokenizer of this tokenizer.json takes endless time. Mend the pattern, or leave that text out."
        ) from error


class Guard:
    """Let one thread at a time use a library object: its truncation is state of the object.

    The library itself encodes the texts of a batch on all cores.
    """

    def __init__(self, library: tokenizers.Tokenizer):
        self._library, self._lock = library, RLock()
        library.no_padding()
        library.no_truncation()

    @contextmanager
    def __call__(self, truncation: dict[str, Any] | None = None) -> Iterator[None]:
        """Inside, the library truncates with these arguments of its `enable_truncation`; None for no truncation."""
        with self._lock, panics_as_errors():
            if truncation:
                self._library.enable_truncation(**truncation)
            try:
                yield
            finally:
                self._library.no_truncation()
