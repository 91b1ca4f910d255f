"""Ministral: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BIASES, LLAMA, llama_config, named_like
from keras_transformers.families.layer_types import LOCAL, TYPES, read_types, shortest, write_types
from keras_transformers.families.table import with_defaults


def ministral(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 131_072, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Ministral 8B: Mistral's blocks, of which three in four see a window.

    Epsilon is the released files' (mistralai/Ministral-8B-Instruct-2410).

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            The model of 8B has `block_options=[{}, *[{"attention_window": 32_768}] * 3]` and a `max_wavelength` of 1e8.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> blocks = [{}, *[{"attention_window": 32_768}] * 3]
    >>> ministral(131_072, 36, 32, 4096, 12288, num_kv_heads=8, block_options=blocks).block(1).attention_window
    32768
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("ministral", sizes, {"epsilon": 1e-5} | options)


WINDOW = "sliding_window"
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-6, "rope_theta": 10_000.0}
IF_MISSING = {WINDOW: 4096, "num_key_value_heads": 8}  # null is a value: no window, as many heads as queries have


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    types = read_types(values, lambda index: values[WINDOW] is not None)
    if LOCAL in types and values[WINDOW] is None:
        raise ValueError(f"{TYPES} has {LOCAL!r}, and {WINDOW} is null. Give the size of the window, in tokens.")
    blocks = [{"attention_window": values[WINDOW]} if kind == LOCAL else {} for kind in types]
    return values | {TYPES: shortest(blocks) if LOCAL in types else []}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    types, window = write_types("the ministral format", values[TYPES], values["num_hidden_layers"])
    return values | {TYPES: types, WINDOW: IF_MISSING[WINDOW] if window is None else window}


MINISTRAL = LLAMA._replace(
    model_type="ministral",
    configure=ministral,
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours not in BIASES} | {"block_options": TYPES},
    read=_read,
    write=_write,
    **named_like("Ministral"),
)
