"""Safe use of the `tokenizers` library: panics become errors, and only one thread at a time changes its state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import tokenizers

from keras_transformers.utils.untrusted import MOST_LETTERS

NO_LIMIT = 2**31 - 1  # tokens: the largest int32
SPARE_IDS = 1 << 16  # ids that a vocabulary may leave without a token, in addition to its number of tokens
PANIC = "PanicException"  # a BaseException that cannot be imported


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a `ValueError` if the library's Rust code panics; other exceptions pass unchanged."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise ValueError(
            f"The `tokenizers` library gave up: {error}. Most likely a pattern (Regex) in the normalizer or the "
            "pre_tokenizer of this tokenizer.json takes endless time. Mend the pattern, or leave that text out."
        ) from error


@contextmanager
def refusals_as_errors(path: Any) -> Iterator[None]:
    """Raise a `ValueError` that names the file if the library refuses its content, or panics."""
    try:
        with panics_as_errors():
            yield
    except ValueError:  # ours
        raise
    except Exception as error:  # the library raises bare Exception, and TypeError for numbers that Rust cannot hold
        raise ValueError(f"{path} is nothing that `tokenizers` can read: {str(error)[:MOST_LETTERS]}") from error


def uncached(model: tokenizers.models.Model) -> tokenizers.models.Model:
    """Stop a model from caching the words that it cuts, as the library never frees them; return the model.

    Example:

    >>> model = uncached(tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    >>> [token.value for token in model.tokenize("aab")]
    ['a', 'ab']
    """
    if hasattr(model, "_resize_cache"):
        model._resize_cache(0)
    return model


def count_ids(library: tokenizers.Tokenizer) -> int:
    """Return the largest id + 1, which is the size of all tables by id.

    Raises:
        ValueError: There is no token, or most of the ids below the largest one have none.

    Example:

    >>> count_ids(tokenizers.Tokenizer(tokenizers.models.WordLevel({"<pad>": 0, "cat": 4})))
    5
    """
    ids = library.get_vocab().values()
    size = max(ids, default=-1) + 1
    if not 0 < size <= 2 * len(ids) + SPARE_IDS:
        raise ValueError(
            f"the tokenizer has {len(ids)} tokens with ids up to {size - 1}: expected one token or more, and ids "
            "without large gaps. Fetch tokenizer.json again."
        )
    return size


class Guard:
    """A lock that lets one thread at a time use a library object, as the truncation is state of the object.

    The library itself encodes the texts of a batch on all cores.

    Args:
        library: The library object.
        side: Side on which long texts are cut, `"left"` or `"right"`.
        untyped: A post-processor with type 0 for all tokens, if tokens have no types; None if they have the types of
            the library's.
    """

    def __init__(
        self,
        library: tokenizers.Tokenizer,
        side: str = "right",
        untyped: tokenizers.processors.PostProcessor | None = None,
    ):
        self._library, self._lock, self.side, self._untyped = library, RLock(), side, untyped
        library.no_padding()
        library.no_truncation()

    @property
    def has_types(self) -> bool:
        """Return whether tokens have the types that the library's post-processor gives them."""
        return self._untyped is None

    @contextmanager
    def __call__(self, truncation: dict[str, Any] | None = None) -> Iterator[None]:
        """Set the library's truncation inside a context: arguments of its `enable_truncation`, or None for none."""
        with self._lock, panics_as_errors():
            if truncation:
                self._library.enable_truncation(**truncation, direction=self.side)
            try:
                yield
            finally:
                self._library.no_truncation()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Set the side and the post-processor inside a context, for a tokenizer.json that encodes as its user does."""
        with self({"max_length": NO_LIMIT} if self.side == "left" else None):
            own = self._library.post_processor
            if self._untyped is not None:
                self._library.post_processor = self._untyped
            try:
                yield
            finally:
                if self._untyped is not None:
                    self._library.post_processor = own
