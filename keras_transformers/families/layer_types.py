"""The types of blocks in config.json: `layer_types` has `"full_attention"` or `"sliding_attention"` for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
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


def write_types(form: str, blocks: Sequence[Any], num_layers: int) -> tuple[list[str], int | None]:
    """Return the type of each block, and the one window of those that have a window.

    Args:
        form: Name of the format, for the error message.
        blocks: Value of `block_options`, whose repetition are the options of all blocks.
        num_layers: Number of blocks.

    Returns:
        A list of types, and a number of tokens; None without windows.

    Raises:
        ValueError: Blocks have several windows, or other options.

    Example:

    >>> write_types("the mistral format", [{"attention_window": 8}, {}], 3)
    (['sliding_attention', 'full_attention', 'sliding_attention'], 8)
    """
    given = make_block_options(blocks or [{}])
    windows = {block.attention_window for block in given if block.attention_window is not None}
    if len(windows) > 1 or given != tuple(BlockOptions(block.attention_window) for block in given):
        raise ValueError(
            f"{form} of Hugging Face has no place for block_options={shown(blocks)}: expected one window for all "
            "blocks that have one, and no other option."
        )
    types = [FULL if given[index % len(given)].attention_window is None else LOCAL for index in range(num_layers)]
    return types, max(windows, default=None)


def write_window(form: str, blocks: Sequence[Any]) -> int | None:
    """Return the one window of all blocks; None without one.

    Args:
        form, blocks: As for `write_types`.

    Raises:
        ValueError: Not all blocks have the same window, or they have other options.

    Example:

    >>> write_window("the mistral format", [{"attention_window": 8}])
    8
    """
    given = make_block_options(blocks)
    window = given[0].attention_window if given else None
    if given and given != make_block_options([{"attention_window": window}]):
        raise ValueError(
            f"{form} of Hugging Face has no place for block_options={shown(blocks)}: expected one window for all "
            "blocks, or none."
        )
    return window


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
