"""Qwen 2, 2.5 and 3: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BIASES, BLOCK, LLAMA, llama_config
from keras_transformers.families.layer_types import LOCAL, TYPES, read_types, shortest, write_types
from keras_transformers.families.table import Names, with_defaults


def qwen2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 32_768, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Qwen 2 or 2.5: Llama's blocks with biases on queries, keys and values.

    Paper: Yang et al. 2024, https://arxiv.org/abs/2407.10671.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Released models have a `max_wavelength` of 1,000,000.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = qwen2(151936, 24, 14, 896, 4864, num_kv_heads=2, tie_embeddings=True)
    >>> config.attention_bias, config.attention_output_bias
    (True, False)
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    biases = {"attention_bias": True, "attention_output_bias": False}
    return llama_config("qwen2", sizes, {"epsilon": 1e-6} | biases | options)


def qwen3(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 40_960, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Qwen 3: Llama's blocks with an RMS norm of each head's queries and keys.

    Paper: Yang et al. 2025, https://arxiv.org/abs/2505.09388.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Released models have a `max_wavelength` of 1,000,000 and a `head_dim` of 128.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> qwen3(151936, 28, 16, 1024, 3072, num_kv_heads=8, head_dim=128, tie_embeddings=True).head_norm
    'rms'
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("qwen3", sizes, {"epsilon": 1e-6, "head_norm": "rms"} | options)


WINDOW, USE, FIRST = "sliding_window", "use_sliding_window", "max_window_layers"
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-6, "rope_theta": 10_000.0, USE: False, FIRST: 28}
IF_MISSING = {WINDOW: 4096, "num_key_value_heads": 32}  # null is a value: no window, as many heads as queries have
NORMS = {
    "decoder_block_{i}/attention/query_norm": f"{BLOCK}.self_attn.q_norm",
    "decoder_block_{i}/attention/key_norm": f"{BLOCK}.self_attn.k_norm",
}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read the windows of blocks: `layer_types`, or all blocks from `max_window_layers` on."""
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    types = read_types(values, lambda index: index >= values[FIRST])
    if not values[USE] or values[WINDOW] is None or LOCAL not in types:
        return values | {TYPES: []}
    blocks = [{"attention_window": values[WINDOW] if kind == LOCAL else None} for kind in types]
    return values | {TYPES: shortest(blocks)}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    types, window = write_types("Qwen's format", values[TYPES], values["num_hidden_layers"])
    first = types.index(LOCAL) if LOCAL in types else len(types)
    return values | {TYPES: types, USE: window is not None, WINDOW: window, FIRST: first}


def _table(model_type: str, configure: Any, name: str, **changes: Any) -> Names:
    return LLAMA._replace(
        model_type=model_type,
        configure=configure,
        architectures={theirs.replace("Llama", name): heads for theirs, heads in LLAMA.architectures.items()},
        tasks={task: theirs.replace("Llama", name) for task, theirs in LLAMA.tasks.items()},
        read=_read,
        write=_write,
        **changes,
    )


FIELDS = {ours: theirs for ours, theirs in LLAMA.fields.items() if ours not in BIASES} | {"block_options": TYPES}
QWEN2 = _table("qwen2", qwen2, "Qwen2", fields=FIELDS)


def _read_qwen3(values: dict[str, Any]) -> dict[str, Any]:
    return _read({"head_dim": 128, "attention_bias": False} | values)


QWEN3 = _table("qwen3", qwen3, "Qwen3", weights=LLAMA.weights | NORMS,
               fields=FIELDS | {"attention_bias": "attention_bias"})._replace(read=_read_qwen3)  # fmt: skip
