"""SmolLM3: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import LLAMA, llama_config, named_like
from keras_transformers.families.layer_types import FULL, LOCAL, TYPES, read_types, shortest
from keras_transformers.families.table import with_defaults
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

WITHOUT: tuple[dict[str, Any], ...] = ({}, {}, {}, {"rotary": False})  # each fourth block has no positions


def smollm3(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 65_536, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe SmolLM3: Llama's blocks, of which each fourth has no positions.

    The base of wavelengths is the released files' (HuggingFaceTB/SmolLM3-3B).
    Papers: the model's, Bakouch et al. 2025, https://huggingface.co/blog/smollm3; blocks without positions, Yang et al.
    2025, https://arxiv.org/abs/2501.18795.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = smollm3(128256, 36, 16, 2048, 11008, num_kv_heads=4)
    >>> [config.block(index).rotary for index in range(5)]
    [True, True, True, False, True]
    """
    facts: dict[str, Any] = {"epsilon": 1e-6, "max_wavelength": 5_000_000.0, "tie_embeddings": True}
    if is_size(num_layers):  # if not, the configuration says so
        facts["block_options"] = WITHOUT[: int(num_layers)] if num_layers >= len(WITHOUT) else ()
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("smollm3", sizes, facts | options)


ROTARY, INTERVAL, WINDOW, USE = "no_rope_layers", "no_rope_layer_interval", "sliding_window", "use_sliding_window"
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-6, "rope_theta": 2_000_000.0, INTERVAL: 4, USE: False}
IF_MISSING = {
    "num_key_value_heads": 4, "bos_token_id": 128_000, "eos_token_id": 128_001, "pad_token_id": 128_004,
}  # fmt: skip


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read the blocks: 1 in `no_rope_layers` means rotary positions, and windows are in blocks without them."""
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    num_layers: Any = values.get("num_hidden_layers")
    rotary = values.get(ROTARY)
    if not is_size(num_layers):
        return values | {ROTARY: None}  # the configuration says what is wrong
    num_layers = min(num_layers, MOST_BLOCKS)
    if rotary is None:
        if not is_size(values[INTERVAL]):
            raise ValueError(f"{INTERVAL} must be a positive integer: received {shown(values[INTERVAL])}.")
        rotary = [int((index + 1) % values[INTERVAL] != 0) for index in range(num_layers)]
    if {*rotary} - {0, 1} or len(rotary) < num_layers:
        raise ValueError(f"{ROTARY} must hold 1 or 0 for each of {num_layers} layers: received {shown(rotary)}.")
    has_windows = bool(values[USE]) and values.get(WINDOW) is not None
    types = read_types(values, lambda index: has_windows and not rotary[index])
    if LOCAL in types and values.get(WINDOW) is None:
        raise ValueError(f"{TYPES} has {LOCAL!r}, and {WINDOW} is null. Give the size of the window, in tokens.")
    blocks = [
        ({} if turned else {"rotary": False}) | ({"attention_window": values[WINDOW]} if kind == LOCAL else {})
        for turned, kind in zip(rotary, types, strict=False)
    ]
    return values | {ROTARY: shortest(blocks) if any(blocks) else []}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    given, num_layers = make_block_options(values[ROTARY] or [{}]), values["num_hidden_layers"]
    blocks = [given[index % len(given)] for index in range(num_layers)]
    windows = {block.attention_window for block in blocks if block.attention_window is not None}
    plain = [BlockOptions(block.attention_window, rotary=block.rotary) for block in blocks]
    if len(windows) > 1 or blocks != plain:
        raise ValueError(
            f"the smollm3 format of Hugging Face has no place for block_options={shown(values[ROTARY])}: expected "
            "rotary=False, one window for all blocks that have one, and no other option."
        )
    return values | {
        ROTARY: [int(block.rotary) for block in blocks],
        TYPES: [FULL if block.attention_window is None else LOCAL for block in blocks],
        USE: bool(windows),
        WINDOW: max(windows, default=None),
    }


SMOLLM3 = LLAMA._replace(
    model_type="smollm3",
    configure=smollm3,
    fields=LLAMA.fields | {"block_options": ROTARY},
    read=_read,
    write=_write,
    **named_like("SmolLM3"),
)
