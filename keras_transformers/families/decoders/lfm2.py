"""LFM2: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BIASES, BLOCK, LLAMA, llama_config
from keras_transformers.families.layer_types import FULL, TYPES, shortest
from keras_transformers.families.table import Reshaped, with_defaults
from keras_transformers.utils.number_checks import is_number, is_size
from keras_transformers.utils.untrusted import shown

CONVOLUTION = {"mixer": "short_convolution"}
# Blocks with attention in the released models of 16 blocks, https://huggingface.co/LiquidAI/LFM2-1.2B.
ATTENTION = (2, 5, 8, 10, 12, 14)


def lfm2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 128_000, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe LFM2: short convolutions between gates in most blocks, Qwen 3's attention in the others.

    Its facts are the released files', https://huggingface.co/LiquidAI/LFM2-350M.
    Paper: Hasani et al. 2025, https://arxiv.org/abs/2511.23404.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            `block_options` say which blocks have attention: when not given, as in the released models, of which as
            many as there are blocks count, or the last one of fewer than three.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = lfm2(65_536, 16, 16, 1024, 4608, num_kv_heads=8)
    >>> [index for index in range(16) if config.block(index).mixer == "attention"]
    [2, 5, 8, 10, 12, 14]
    """
    facts: dict[str, Any] = {
        "epsilon": 1e-5, "head_norm": "rms", "tie_embeddings": True, "max_wavelength": 1_000_000.0, "kernel_size": 3,
    }  # fmt: skip
    if is_size(num_layers):  # if not, the configuration says so
        number = min(int(num_layers), MOST_BLOCKS)
        attention = ATTENTION if number > ATTENTION[0] else (number - 1,)
        facts["block_options"] = shortest([{} if index in attention else CONVOLUTION for index in range(number)])
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("lfm2", sizes, facts | options)


CONV, INDICES, WIDTH = "conv", "full_attn_idxs", "intermediate_size"
ADJUST, FACTOR, MULTIPLE = "block_auto_adjust_ff_dim", "block_ffn_dim_multiplier", "block_multiple_of"
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS = {"norm_eps": 1e-5, "rope_theta": 1_000_000.0, "conv_L_cache": 3, ADJUST: True, MULTIPLE: 256}
IF_MISSING = {
    "num_key_value_heads": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, FACTOR: 1.0,
    "max_position_embeddings": 128_000, "vocab_size": 65_536,
}  # fmt: skip
OLDER = {"block_ff_dim": WIDTH, "tie_embedding": "tie_word_embeddings"}  # which have precedence in `transformers`


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read the types of blocks, and the width of the feed-forward layers, which is a part of the one in the file."""
    values = values | {ours: values[theirs] for theirs, ours in OLDER.items() if values.get(theirs) is not None}
    values = {"tie_word_embeddings": True} | IF_MISSING | with_defaults(values, DEFAULTS)
    num_layers: Any = values.get("num_hidden_layers")
    if not is_size(num_layers):
        return values | {TYPES: []}  # the configuration says what is wrong
    types, numbers = values.get(TYPES), range(min(num_layers, MOST_BLOCKS))
    if types is None:
        indices = numbers if values.get(INDICES) is None else values[INDICES]
        types = [FULL if index in indices else CONV for index in numbers]
    if {*types} - {FULL, CONV} or len(types) != len(numbers):
        raise ValueError(
            f"{TYPES} must hold {FULL!r} or {CONV!r} for each of {len(numbers)} layers: received {shown(types)}."
        )
    blocks = shortest([{} if kind == FULL else CONVOLUTION for kind in types])
    return values | {TYPES: blocks if CONVOLUTION in blocks else [], WIDTH: _inner_width(values)}


def _inner_width(values: dict[str, Any]) -> Any:
    """Return the width of the feed-forward layers: two thirds of the file's, rounded up, unless it says otherwise."""
    width, factor, multiple = values.get(WIDTH), values[FACTOR], values[MULTIPLE]
    if not values[ADJUST] or not is_size(width):
        return width
    width = int(2 * values[WIDTH] / 3)
    if factor is None:
        return width
    if not is_number(factor) or factor <= 0 or not is_size(multiple):
        raise ValueError(
            f"{FACTOR} must be a positive number and {MULTIPLE} a positive integer: received {shown(factor)} and "
            f"{shown(multiple)}."
        )
    return multiple * -(-int(factor * width) // multiple)


def _write(values: dict[str, Any]) -> dict[str, Any]:
    blocks, num_layers = make_block_options(values[TYPES] or [{}]), values["num_hidden_layers"]
    if {*blocks} - {BlockOptions(), BlockOptions(mixer=CONVOLUTION["mixer"])}:
        raise ValueError(
            f"the lfm2 format of Hugging Face has no place for block_options={shown(values[TYPES])}: expected "
            "mixer='short_convolution' or nothing."
        )
    types = [FULL if blocks[index % len(blocks)].mixer == "attention" else CONV for index in range(num_layers)]
    return values | {TYPES: types, ADJUST: False}


# A filter's weights are (channels, 1, tokens).
FILTER = Reshaped(read=lambda array: array[:, 0], write=lambda array: array[:, None])
CONV_PATH, FEED_FORWARD = f"{BLOCK}.conv", f"{BLOCK}.feed_forward"
LFM2 = LLAMA._replace(
    model_type="lfm2",
    configure=lfm2,
    weights=LLAMA.weights
    | {
        "decoder_block_{i}/mixer/inputs": f"{CONV_PATH}.in_proj",
        "decoder_block_{i}/mixer/filter/kernel": f"{CONV_PATH}.conv.weight",
        "decoder_block_{i}/mixer/output": f"{CONV_PATH}.out_proj",
        "decoder_block_{i}/mixer_norm": f"{BLOCK}.operator_norm",
        "decoder_block_{i}/attention_norm": f"{BLOCK}.operator_norm",
        "decoder_block_{i}/attention/output": f"{BLOCK}.self_attn.out_proj",
        "decoder_block_{i}/attention/query_norm": f"{BLOCK}.self_attn.q_layernorm",
        "decoder_block_{i}/attention/key_norm": f"{BLOCK}.self_attn.k_layernorm",
        "decoder_block_{i}/feed_forward/gate": f"{FEED_FORWARD}.w1",
        "decoder_block_{i}/feed_forward/intermediate": f"{FEED_FORWARD}.w3",
        "decoder_block_{i}/feed_forward/output": f"{FEED_FORWARD}.w2",
        "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.ffn_norm",
        "final_norm": "model.embedding_norm",
    },
    fields={
        ours: theirs for ours, theirs in LLAMA.fields.items() if ours not in BIASES
    } | {"epsilon": "norm_eps", "kernel_size": "conv_L_cache", "block_options": TYPES},
    activations={"silu": "silu", "swish": "silu"},
    fixed=LLAMA.fixed | {"conv_bias": False},
    reshaped={f"model.layers.{index}.conv.conv.weight": FILTER for index in range(MOST_BLOCKS)},
    architectures={"Lfm2Model": (), "Lfm2ForCausalLM": ("lm_head",)},
    tasks={"causal_lm": "Lfm2ForCausalLM", "sentence_embedding": "Lfm2Model", "ranking": "Lfm2ForCausalLM"},
    read=_read,
    write=_write,
)  # fmt: skip
