"""The inputs of each block beside the hidden states: the mask and the positions for its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keras_transformers.config.block_options import BlockOptions
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import PositionIds, combine, document_mask, padding_mask
from keras_transformers.layers.attention.masks import asymmetric_window_mask
from keras_transformers.models.block_layers import has_long_texts, window_sides
from keras_transformers.models.build import Layers, rotary_names
from keras_transformers.utils.tensor_types import Tensor


def block_inputs(
    config: TransformerConfig, layers: Layers, side: str, queries: Tensor, keys: Tensor,
    attention_mask: Tensor | None = None, documents: Tensor | None = None, is_cached: bool = False,
    text_lengths: Tensor | None = None, ring_keys: Mapping[int | None, Tensor] | None = None,
) -> list[dict[str, Tensor]]:  # fmt: skip
    """Return the call arguments of each block of a stack; blocks with the same options share tensors.

    Args:
        config: The options of each block.
        layers: Layers of the stack, by name.
        side: `"encoder"` or `"decoder"`.
        queries: int32 (1|B, T), positions of the queries in their texts.
        keys: int32 (1|B, S), positions of the keys.
        attention_mask: Boolean (B, 1, S), which hides padding.
        documents: Integer (B, T), as in `document_mask`, if S = T.
        is_cached: Whether the keys come from a cache: only blocks with a state then use `documents`, as later tokens
            overwrite the keys of padding before a token sees them.
        text_lengths: Integer (B, 1|T), the length of each token's text, for positions whose scale depends on it.
        ring_keys: int32 (B, S), positions of the keys of blocks with a window, by its size, where their cache is a
            ring; negative where it holds none.

    Returns:
        A dict for each block: `attention_mask`, boolean (1|B, 1|T, S), or, if texts may be long and the block makes the
        mask itself, `attention_mask` or `documents`; `rotary`, `position_bias` or `relative_positions` if it has
        positions that are not in the embeddings; in a decoder `use_causal_mask`. Recurrent and convolutional blocks of
        a decoder take `positions` only, which show where a text begins; blocks with a state take `padding_mask`, too.
    """
    if config.mixer != "attention":
        block_input = {"positions": queries} if side == "decoder" else {"attention_mask": attention_mask}
        return [block_input] * config.num_blocks(side)
    blocks = [config.block(index, side) for index in range(config.num_blocks(side))]
    windows = [options.attention_window for options in blocks if options.mixer == "attention"]
    if has_long_texts(config) and not is_cached:
        given = {"attention_mask": attention_mask} if documents is None else {"documents": documents}
        visible = dict.fromkeys(windows, given)
    else:
        places = (queries, keys)
        if documents is not None and not is_cached:
            attention_mask = combine(attention_mask, document_mask(documents))  # (B, T, S)
            # Places in the row, not positions: a text number that occurs again after another text begins a new text.
            places = (PositionIds(name="place_ids")(documents),) * 2  # (1, T)
        visible = {}
        for window in dict.fromkeys(windows):
            ring, sides = (ring_keys or {}).get(window), window_sides(window, side)
            if ring is None:
                mask = combine(attention_mask, asymmetric_window_mask(*places, *sides))
            else:
                mask = combine(asymmetric_window_mask(queries, ring, *sides), padding_mask(ring >= 0))  # (B, T, S)
            visible[window] = {"attention_mask": mask}

    positions = _positions(config, layers, side, blocks, queries, keys, text_lengths)
    causal = {"use_causal_mask": False} if side == "decoder" else {}  # masks or windows hide later tokens
    with_state = {"positions": queries} | ({} if documents is None else {"padding_mask": documents})
    return [
        {**visible[own.attention_window], **own_positions, **causal} if own.mixer == "attention" else with_state
        for own, own_positions in zip(blocks, positions, strict=True)
    ]


def _positions(
    config: TransformerConfig, layers: Layers, side: str, blocks: Sequence[BlockOptions], queries: Tensor, keys: Tensor,
    text_lengths: Tensor | None,
) -> list[dict[str, Tensor]]:  # fmt: skip
    """Return the positions of each block that are not in the embeddings, by the name of its call argument."""
    if "rotary" in config.position_kinds:
        lengths = {} if text_lengths is None else {"lengths": text_lengths}
        tables = {
            (base, scaling): {"rotary": layers[name](queries, **(lengths if scaling and scaling.by_length else {}))}
            for (base, scaling), name in rotary_names(config, side).items()
        }
        return [tables.get((options.max_wavelength or 0.0, options.rotary_scaling), {}) for options in blocks]
    if "disentangled" in config.position_kinds:
        return [{"relative_positions": layers["positions"](queries)}] * len(blocks)
    bias = {"position_bias": layers["positions"](queries, keys)} if "positions" in layers else {}
    return [bias] * len(blocks)
