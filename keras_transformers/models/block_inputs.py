"""What each block takes beside the hidden states: the mask and the positions that its own options ask for."""

from __future__ import annotations

from keras_transformers.config import TransformerConfig
from keras_transformers.layers import combine, window_mask
from keras_transformers.models.build import Layers, rotary_names
from keras_transformers.tensor import Tensor


def block_inputs(
    config: TransformerConfig, layers: Layers, side: str, queries: Tensor, keys: Tensor, attention_mask: Tensor
) -> list[dict[str, Tensor]]:
    """The call arguments of each block of a stack; blocks that want the same share the same tensors.

    Args:
        config: Says what each block wants.
        layers: Of the stack, by name.
        side: `"encoder"` or `"decoder"`.
        queries: int32 (1|B, T), positions of the queries in their texts.
        keys: int32 (1|B, S), positions of the keys.
        attention_mask: Boolean (1|B, 1|T, S), of a block without a window.

    Returns:
        For each block a dict of `attention_mask`, boolean (1|B, 1|T, S), and, where it has positions that are not in
        the embeddings, `rotary` or `position_bias`.
    """
    blocks = [config.block(index, side) for index in range(config.num_blocks(side))]
    masks = {
        window: _window(side, queries, keys, attention_mask, window)
        for window in dict.fromkeys(options.attention_window for options in blocks)
    }

    if config.positions == "rotary":
        tables = {base: {"rotary": layers[name](queries)} for base, name in rotary_names(config, side).items()}
        positions = [tables.get(options.max_wavelength, {}) for options in blocks]
    else:
        bias = {"position_bias": layers["positions"](queries, keys)} if "positions" in layers else {}
        positions = [bias] * len(blocks)

    return [
        {"attention_mask": masks[options.attention_window], **own_positions}
        for options, own_positions in zip(blocks, positions, strict=True)
    ]


def _window(side: str, queries: Tensor, keys: Tensor, attention_mask: Tensor, window: int | None) -> Tensor:
    if window is None:
        return attention_mask
    # A decoder's mask is causal: it hides the later half.
    max_distance = window // 2 if side == "encoder" else window - 1
    return combine(attention_mask, window_mask(queries, keys, max_distance))  # (1|B, T, S)
