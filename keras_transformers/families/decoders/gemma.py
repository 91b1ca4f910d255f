"""Gemma 1 and 2: the functions, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BLOCK, LLAMA, llama_config, named_like
from keras_transformers.families.layer_types import LOCAL, TYPES, read_types, shortest, write_types
from keras_transformers.families.table import with_defaults
from keras_transformers.utils.number_checks import is_finite, is_size
from keras_transformers.utils.untrusted import shown

WINDOW_SIZE = 4096  # Gemma 2's


def gemma(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 8192, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Gemma: Llama's blocks with norms whose weights are offsets from 1, scaled embeddings and GELU.

    Paper: Gemma Team 2024, https://arxiv.org/abs/2403.08295.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Released models have a `head_dim` of 256.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gemma(256_000, 18, 8, 2048, 16_384, num_kv_heads=1, head_dim=256).norm
    'offset_rms'
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return gemma_config("gemma", sizes, options)


def gemma_config(family: str, sizes: tuple, options: dict[str, Any]) -> TransformerConfig:
    """Build the configuration of a family whose blocks are Gemma's but for some options.

    Args:
        family: Name of the family.
        sizes: As in `named_config`.
        options: Other fields of `TransformerConfig`, which replace the shared ones.

    Example:

    >>> gemma_config("gemma", (100, 2, 2, 16, 32, 512), {}).scale_embeddings
    True
    """
    facts = {"norm": "offset_rms", "activation": "gelu_tanh", "scale_embeddings": True, "tie_embeddings": True}
    return llama_config(family, sizes, {"epsilon": 1e-6} | facts | options)


def gemma2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 8192, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Gemma 2: Gemma's blocks with norms before and after each sublayer, and a window in every other block.

    Paper: Gemma Team 2024, https://arxiv.org/abs/2408.00118.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Released models have an `attention_soft_cap` of 50 and a `logits_soft_cap` of 30, and the 27B model an
            `attention_scale` of `144 ** -0.5`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = gemma2(256_000, 26, 8, 2304, 9216, num_kv_heads=4, head_dim=256, attention_soft_cap=50.0)
    >>> [config.block(index).attention_window for index in range(3)]
    [4096, None, 4096]
    """
    facts: dict[str, Any] = {"norm_order": "sandwich"}
    if is_size(num_layers):  # if not, the configuration says so
        blocks: tuple[dict[str, Any], ...] = ({"attention_window": WINDOW_SIZE}, {})
        facts["block_options"] = blocks[: min(int(num_layers), MOST_BLOCKS)]
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return gemma_config("gemma2", sizes, facts | options)


WINDOW, QUERY, ACTIVATION = "sliding_window", "query_pre_attn_scalar", "hidden_activation"
BIDIRECTIONAL = "use_bidirectional_attention"
# The defaults of `transformers` for keys that config.json lacks; null is a value: none.
SHARED: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1, "attention_bias": False}
IF_MISSING = SHARED | {
    WINDOW: WINDOW_SIZE, "num_key_value_heads": 4, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
}  # fmt: skip
DEFAULTS: dict[str, Any] = {
    "rms_norm_eps": 1e-6, "rope_theta": 10_000.0, "head_dim": 256, ACTIVATION: "gelu_pytorch_tanh",
    "tie_word_embeddings": True,
}  # fmt: skip
TANH = DEFAULTS[ACTIVATION]


def _read_gemma(values: dict[str, Any]) -> dict[str, Any]:
    """Read the activation: early files say "gelu" and mean its tanh form, and `hidden_activation` comes first."""
    values = SHARED | {"num_key_value_heads": 16} | with_defaults(values, DEFAULTS | {ACTIVATION: None})
    named = values[ACTIVATION] or values.get("hidden_act") or TANH
    return values | {"hidden_act": TANH if named == "gelu" else named}


def read_scale(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the number that query-key products are divided by the root of to a factor; None if it is the usual one.

    Example:

    >>> read_scale({"query_pre_attn_scalar": 4, "head_dim": 8})
    {'query_pre_attn_scalar': 0.5, 'head_dim': 8}
    """
    number = values.get(QUERY, 256)
    if not (is_finite(number) and number > 0):
        raise ValueError(f"{QUERY} must be a positive number: received {shown(number)}.")
    return values | {QUERY: None if number == values["head_dim"] else number**-0.5}


def write_scale(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the factor of query-key products to a whole number, the format's: the inverse of `read_scale`.

    Raises:
        ValueError: It is no whole number.
    """
    scale = values[QUERY]
    number = values["head_dim"] if scale is None else max(round(scale**-2), 1) if scale else 1
    if scale is not None and number**-0.5 != scale:
        raise ValueError(
            f"Gemma's format of Hugging Face has no place for attention_scale={scale}: expected n ** -0.5 for a whole "
            f"number n, such as {number} ** -0.5."
        )
    return values | {QUERY: number}


def _read_gemma2(values: dict[str, Any]) -> dict[str, Any]:
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    types = read_types(values, lambda index: index % 2 == 0)
    check_window(values[WINDOW], types)
    blocks = [{"attention_window": values[WINDOW]} if kind == LOCAL else {} for kind in types]
    return read_scale(values) | {TYPES: shortest(blocks) if LOCAL in types else []}


def check_window(window: Any, types: list[str]) -> None:
    """Refuse blocks that see a window whose size is not given."""
    if window is None and LOCAL in types:
        raise ValueError(f"{TYPES} has {LOCAL!r}, and {WINDOW} is null. Give the size of the window, in tokens.")


def _write_gemma2(values: dict[str, Any]) -> dict[str, Any]:
    types, window = write_types("the gemma2 format", values[TYPES], values["num_hidden_layers"])
    return write_scale(values) | {TYPES: types, WINDOW: WINDOW_SIZE if window is None else window}


_FIELDS = {ours: theirs for ours, theirs in LLAMA.fields.items() if ours != "feed_forward_bias"}
FIXED = LLAMA.fixed | {BIDIRECTIONAL: False}
GEMMA = LLAMA._replace(
    model_type="gemma", configure=gemma, fields=_FIELDS, fixed=FIXED, read=_read_gemma, **named_like("Gemma")
)
NORMS = {
    "decoder_block_{i}/attention_output_norm": f"{BLOCK}.post_attention_layernorm",
    "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.pre_feedforward_layernorm",
    "decoder_block_{i}/feed_forward_output_norm": f"{BLOCK}.post_feedforward_layernorm",
}
FIELDS = _FIELDS | {
    "activation": ACTIVATION,
    "attention_scale": QUERY,
    "attention_soft_cap": "attn_logit_softcapping",
    "logits_soft_cap": "final_logit_softcapping",
    "block_options": TYPES,
}
GEMMA2 = LLAMA._replace(
    model_type="gemma2",
    configure=gemma2,
    weights=LLAMA.weights | NORMS,
    fields=FIELDS,
    fixed=FIXED,
    read=_read_gemma2,
    write=_write_gemma2,
    **named_like("Gemma2"),
)
