"""Mistral, and of its fine-tunes such as E5-Mistral: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BIASES, LLAMA, llama_config
from keras_transformers.families.layer_types import write_window
from keras_transformers.families.table import with_defaults


def mistral(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 32_768, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Mistral, or E5-Mistral: Llama's blocks, in version 0.1 with a window.

    The epsilon is the released files' (mistralai/Mistral-7B-v0.1).
    Paper: Jiang et al. 2023, https://arxiv.org/abs/2310.06825.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Version 0.1 has `block_options=[{"attention_window": 4096}]`; later ones a `max_wavelength` of 1,000,000.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = mistral(32000, 32, 32, 4096, 14336, num_kv_heads=8, block_options=[{"attention_window": 4096}])
    >>> config.block(31, "decoder").attention_window
    4096
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("mistral", sizes, {"epsilon": 1e-5} | options)


WINDOW = "sliding_window"
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-6, "rope_theta": 10_000.0}
IF_MISSING = {WINDOW: 4096, "num_key_value_heads": 8}  # null is a value: no window, as many heads as queries have


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    return values | {WINDOW: [] if values[WINDOW] is None else [{"attention_window": values[WINDOW]}]}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return values | {WINDOW: write_window("the mistral format", values[WINDOW])}


MISTRAL = LLAMA._replace(
    model_type="mistral",
    configure=mistral,
    architectures={name.replace("Llama", "Mistral"): heads for name, heads in LLAMA.architectures.items()},
    tasks={task: name.replace("Llama", "Mistral") for task, name in LLAMA.tasks.items()},
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours not in BIASES} | {"block_options": WINDOW},
    equal={},
    read=_read,
    write=_write,
)
