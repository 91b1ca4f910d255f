"""Optional results of a layer beside its output: a cache and attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Requested(NamedTuple):
    """The optional results that a call asks for."""

    cache: bool
    scores: bool

    def outputs(self, output: Any, cache: Any, scores: Sequence[Any] = ()) -> Any:
        """Return the output, or a tuple of the output, the cache and the attention weights.

        Example:

        >>> Requested(cache=False, scores=True).outputs("output", "cache", ["weights"])
        ('output', 'weights')
        """
        more = [*([cache] if self.cache else []), *(scores if self.scores else [])]
        return (output, *more) if more else output


def requested(
    layer: Any, cache: Any = None, return_cache: bool | None = None, return_attention_scores: bool | None = None
) -> Requested:
    """Return the optional results that a call asks for; the layer's own settings are the defaults.

    Args:
        layer: A layer with `return_cache` and `return_scores`.
        cache: The call's cache: with one, the call returns one.
        return_cache, return_attention_scores: Arguments of the call.
    """
    return Requested(
        bool(cache is not None or (layer.return_cache if return_cache is None else return_cache)),
        bool(layer.return_scores if return_attention_scores is None else return_attention_scores),
    )
