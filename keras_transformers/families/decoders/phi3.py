"""Phi-3, Phi-3.5 and Phi-4-mini: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BIASES, LLAMA, llama_config, named_like
from keras_transformers.families.layer_types import write_window
from keras_transformers.families.table import Fused, with_defaults


def phi3(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 4096, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Phi-3, Phi-3.5 or Phi-4-mini: Llama's blocks; long texts have rotary positions on other scales.

    Papers: Abdin et al. 2024, https://arxiv.org/abs/2404.14219; Phi-4-mini, https://arxiv.org/abs/2503.01743.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Models for long texts have a `rotary_scaling` of kind `"longrope"`; Phi-4-mini a `partial_rotary_factor` of
            0.75.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> phi3(200_064, 32, 24, 3072, 8192, num_kv_heads=8, partial_rotary_factor=0.75).rotary_dim
    96
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("phi3", sizes, {"epsilon": 1e-5} | options)


WINDOW, SCALING, LENGTH = "sliding_window", "rope_scaling", "original_max_position_embeddings"
# The defaults of `transformers` for options that config.json omits.
IF_MISSING = {"bos_token_id": 1, "eos_token_id": 32_000, "pad_token_id": 32_000}
PACKED = r"model\.layers\.\d+\."


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read one window of all blocks; early files call longrope "su" or "yarn"."""
    values = IF_MISSING | with_defaults(values, {"rope_theta": 10_000.0})
    scaling = values.get(SCALING)
    if isinstance(scaling, dict) and scaling.get("rope_type") == "yarn":
        values[SCALING] = scaling | {"rope_type": "longrope"}
    window = values.get(WINDOW)
    return values | {WINDOW: [] if window is None else [{"attention_window": window}]}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    original = (values.get(SCALING) or {}).get(LENGTH)
    window = write_window("the phi3 format", values[WINDOW])
    return values | {WINDOW: window, LENGTH: original or values["max_position_embeddings"]}


def _head_widths(config: TransformerConfig) -> tuple[int, int, int]:
    width = config.num_kv_heads * config.head_dim
    return config.num_heads * config.head_dim, width, width


def _weights() -> dict[str, str]:
    """Return Llama's names, of layers that are parts of packed ones."""
    packed = {"q_proj": "qkv_proj.query", "k_proj": "qkv_proj.key", "v_proj": "qkv_proj.value",
              "gate_proj": "gate_up_proj.gate", "up_proj": "gate_up_proj.intermediate"}  # fmt: skip
    found = {}
    for ours, theirs in LLAMA.weights.items():
        stem, _, last = theirs.rpartition(".")
        found[ours] = f"{stem}.{packed[last]}" if last in packed else theirs
    return found


PHI3 = LLAMA._replace(
    model_type="phi3",
    configure=phi3,
    weights=_weights(),
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours not in (*BIASES, "head_dim")}
    | {"dropout": "resid_pdrop", "partial_rotary_factor": "partial_rotary_factor", "block_options": WINDOW},
    fixed={},
    fused=(
        Fused(PACKED + r"self_attn\.qkv_proj", ("query", "key", "value"), _head_widths),
        Fused(PACKED + r"mlp\.gate_up_proj", ("gate", "intermediate")),
    ),
    read=_read,
    write=_write,
    **named_like("Phi3"),
)
