"""What each block takes beside the hidden states: the mask and the positions that its own options ask for."""

from __future__ import annotations

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import PositionIds, combine, document_mask
from keras_transformers.layers.attention.masks import reach_mask
from keras_transformers.models.build import Layers, has_long_texts, reach, rotary_names
from keras_transformers.utils.tensor_types import Tensor


def block_inputs(
    config: TransformerConfig, layers: Layers, side: str, queries: Tensor, keys: Tensor,
    attention_mask: Tensor | None = None, documents: Tensor | None = None, is_cached: bool = False,
) -> list[dict[str, Tensor]]:  # fmt: skip
    """Return the call arguments of each block of a stack; blocks that want the same share the same tensors.

    Args:
        config: Says what each block wants.
        layers: Of the stack, by name.
        side: `"encoder"` or `"decoder"`.
        queries: int32 (1|B, T), positions of the queries in their texts.
        keys: int32 (1|B, S), positions of the keys.
        attention_mask: Boolean (B, 1, S), what hides padding.
        documents: Integer (B, T), as `document_mask` takes them, where S = T.
        is_cached: Whether the keys come from a cache.

    Returns:
        For each block a dict of `attention_mask`, boolean (1|B, 1|T, S), or, where texts may be long and the block
        makes its mask itself, `attention_mask` or `documents`; and, where it has positions that are not in the
        embeddings, `rotary` or `position_bias`; for a decoder `use_causal_mask`. Recurrent blocks and convolutions of
        a decoder take `positions` alone, as these tell where a text begins.
    """
    if config.mixer != "attention":
        block_input = {"positions": queries} if side == "decoder" else {"attention_mask": attention_mask}
        return [block_input] * config.num_blocks(side)
    blocks = [config.block(index, side) for index in range(config.num_blocks(side))]
    windows = [options.attention_window for options in blocks]
    if has_long_texts(config) and not is_cached:
        given = {"attention_mask": attention_mask} if documents is None else {"documents": documents}
        visible = dict.fromkeys(windows, given)
    else:
        places = (queries, keys)
        if documents is not None:
            attention_mask = combine(attention_mask, document_mask(documents))  # (B, T, S)
            # Those in the row: should a number return behind another text, its positions begin anew.
            places = (PositionIds(name="place_ids")(documents),) * 2  # (1, T)
        visible = {
            window: {"attention_mask": combine(attention_mask, reach_mask(*places, *reach(window, side)))}
            for window in dict.fromkeys(windows)
        }

    if "rotary" in config.position_kinds:
        tables = {base: {"rotary": layers[name](queries)} for base, name in rotary_names(config, side).items()}
        positions = [tables.get(options.max_wavelength or 0.0, {}) for options in blocks]
    else:
        bias = {"position_bias": layers["positions"](queries, keys)} if "positions" in layers else {}
        positions = [bias] * len(blocks)

    causal = {"use_causal_mask": False} if side == "decoder" else {}  # the masks say it, or the block's own reach
    pairs = zip(windows, positions, strict=True)
    return [{**visible[window], **own_positions, **causal} for window, own_positions in pairs]
