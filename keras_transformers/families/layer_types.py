"""The types of blocks in config.json: `layer_types` has `"full_attention"` or `"sliding_attention"` for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

TYPES, FULL, LOCAL = "layer_types", "full_attention", "sliding_attention"


def read_types(values: Mapping[str, Any], is_local: Callable[[int], bool]) -> list[str]:
    """Return the type of each block.

    Args:
        values: Values of config.json; `layer_types` may be missing.
        is_local: Function from the number of a block to whether it sees a window, where they are missing.

    Returns:
        A list; an empty one if there is no number of blocks, which the configuration refuses.

    Raises:
        ValueError: The types are unknown, or there are not as many as blocks.

    Example:

    >>> read_types({"num_hidden_layers": 3}, lambda index: index % 2 == 0)
    ['sliding_attention', 'full_attention', 'sliding_attention']
    """
    num_layers: Any = values.get("num_hidden_layers")
    if not is_size(num_layers):
        return []
    num_layers = min(num_layers, MOST_BLOCKS)
    types = values.get(TYPES)
    if types is None:
        return [LOCAL if is_local(index) else FULL for index in range(num_layers)]
    if {*types} - {FULL, LOCAL} or len(types) != num_layers:
        raise ValueError(
            f"{TYPES} must hold {FULL!r} or {LOCAL!r} for each of {num_layers} layers: received {shown(types)}."
        )
    return types


def shortest(blocks: Sequence[Any]) -> list[Any]:
    """Return the shortest list whose repetition is the given one.

    Example:

    >>> shortest([1, 1, 2, 1, 1, 2, 1])
    [1, 1, 2]
    """
    for size in range(1, len(blocks)):
        if all(block == blocks[index % size] for index, block in enumerate(blocks)):
            return list(blocks[:size])
    return list(blocks)
