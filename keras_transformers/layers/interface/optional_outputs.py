"""What a layer returns beside its output: a cache and attention weights, to who asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """What is asked for."""

    cache: bool
    scores: bool

    def outputs(self, output: Any, cache: Any, scores: Sequence[Any] = ()) -> Any:
        """Return the output alone, or a tuple of it, the cache and the attention weights.

        Example:

        >>> Asked(cache=False, scores=True).outputs("output", "cache", ["weights"])
        ('output', 'weights')
        """
        more = [*([cache] if self.cache else []), *(scores if self.scores else [])]
        return (output, *more) if more else output


def asked(
    layer: Any, cache: Any = None, return_cache: bool | None = None, return_attention_scores: bool | None = None
) -> Asked:
    """Return what a call asks for; where it does not say, what the layer was made to return.

    Args:
        layer: With `return_cache` and `return_scores`.
        cache: That was given: who gives one gets one.
        return_cache, return_attention_scores: Of the call.
    """
    return Asked(
        bool(cache is not None or (layer.return_cache if return_cache is None else return_cache)),
        bool(layer.return_scores if return_attention_scores is None else return_attention_scores),
    )
