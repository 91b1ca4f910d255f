"""OLMo 3: the function, and the names of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.gemma3 import typed_blocks, typed_positions, write_typed
from keras_transformers.families.decoders.llama import llama_config, named_like
from keras_transformers.families.decoders.olmo2 import FACTS, OLMO2
from keras_transformers.families.layer_types import LOCAL, TYPES, read_types
from keras_transformers.families.rotary_keys import THETA, read_scaling
from keras_transformers.families.table import with_defaults
from keras_transformers.utils.number_checks import is_size

FULL_EVERY, WINDOW = 4, "sliding_window"


def olmo3(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 65_536, *, window: int = 4096, scaling: Mapping[str, Any] | None = None, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe OLMo 3: OLMo 2's blocks, of which three in four see a window.

    Paper: Team OLMo 2025, https://arxiv.org/abs/2512.13961.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
        window: Size of the window, in tokens.
        scaling: Scale of rotary positions in blocks that see all: of kind `"yarn"` in models for long texts.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = olmo3(100_278, 32, 32, 4096, 11_008)
    >>> [config.block(index).attention_window for index in range(2, 5)]
    [4096, None, 4096]
    """
    facts: dict[str, Any] = {**FACTS}
    if is_size(num_layers):  # if not, the configuration says so
        types = read_types({"num_hidden_layers": num_layers}, _is_local)
        facts["block_options"] = typed_blocks(types, window, None, scaling)
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("olmo3", sizes, facts | options)


def _is_local(index: int) -> bool:
    return (index + 1) % FULL_EVERY != 0


# The defaults of `transformers` for options that config.json omits: not what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-5, THETA: 500_000.0}
IF_MISSING = {WINDOW: 4096}  # null is a value: no window


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    types = read_types(values, _is_local)
    if LOCAL in types and values[WINDOW] is None:
        raise ValueError(f"{TYPES} has {LOCAL!r}, and {WINDOW} is null. Give the size of the window, in tokens.")
    full, local = typed_positions(values)
    scales = (read_scaling(options, values.get("max_position_embeddings")) for options in (full, local))
    base, local_base = full.get(THETA, values[THETA]), local.get(THETA, values[THETA])
    own_base = None if local_base == base else local_base
    return values | {TYPES: typed_blocks(types, values[WINDOW], own_base, *scales), THETA: base}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | write_typed("olmo3", values)


OLMO3 = OLMO2._replace(
    model_type="olmo3",
    configure=olmo3,
    fields={ours: theirs for ours, theirs in OLMO2.fields.items() if ours != "rotary_scaling"}
    | {"block_options": TYPES},
    read=_read,
    write=_write,
    **named_like("Olmo3"),
)
