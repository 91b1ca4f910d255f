"""The `tokenizers` library, met with care: its panics are errors, and its state is not seen by other threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import tokenizers

PANIC = "PanicException"  # a BaseException that cannot be imported


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raises a `ValueError` where the library's Rust code gives up; other exceptions pass as they are."""
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
    """Lets one thread at a time use a library object, since truncation is state of that object.

    The library itself encodes the texts of a batch on all cores.
    """

    def __init__(self, library: tokenizers.Tokenizer):
        self._library, self._lock = library, RLock()
        library.no_padding()
        library.no_truncation()

    @contextmanager
    def __call__(self, truncation: dict[str, Any] | None = None) -> Iterator[None]:
        """Within it the library truncates as its `enable_truncation` is told; not at all for None."""
        with self._lock, panics_as_errors():
            if truncation:
                self._library.enable_truncation(**truncation)
            try:
                yield
            finally:
                self._library.no_truncation()
