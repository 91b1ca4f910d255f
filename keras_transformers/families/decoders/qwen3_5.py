"""Qwen 3.5, the text part: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.llama import BIASES, BLOCK, LLAMA, llama_config
from keras_transformers.families.layer_types import FULL, TYPES, shortest
from keras_transformers.families.rotary_keys import SCALING, SHARE
from keras_transformers.families.table import Fused, Reshaped, with_defaults
from keras_transformers.families.text_part import read_text_part
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

LINEAR = {"mixer": "gated_delta"}
FULL_EVERY = 4  # blocks


def qwen3_5(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 262_144, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe the text part of Qwen 3.5: three blocks with a gated delta rule to one with gated attention.

    Its facts are the released files', https://huggingface.co/Qwen/Qwen3.5-0.8B.
    Paper of the gated delta rule: Yang et al. 2024, https://arxiv.org/abs/2412.06464; of the gate, Qiu et al. 2025,
    https://arxiv.org/abs/2505.06708.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
            Released models have a `head_dim` of 256, and larger ones more `memory_heads`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = qwen3_5(248_320, 24, 8, 1024, 3584, num_kv_heads=2)
    >>> [config.block(index).mixer for index in range(2, 5)]
    ['gated_delta', 'attention', 'gated_delta']
    """
    facts: dict[str, Any] = {
        "epsilon": 1e-6, "norm": "offset_rms", "head_norm": "offset_rms", "head_dim": 256, "attention_gate": True,
        "max_wavelength": 10_000_000.0, "partial_rotary_factor": 0.25, "tie_embeddings": True, "kernel_size": 4,
        "memory_heads": 16, "memory_key_heads": 16, "memory_key_dim": 128, "memory_value_dim": 128,
    }  # fmt: skip
    if is_size(num_layers):  # if not, the configuration says so
        facts["block_options"] = _blocks(min(int(num_layers), MOST_BLOCKS))
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("qwen3_5_text", sizes, facts | options)


def _blocks(number: int, every: int = FULL_EVERY) -> list[dict[str, Any]]:
    """Return the options of blocks, of which each `every`-th has attention, or the last one if there are fewer."""
    every = min(every, number)
    return shortest([LINEAR if (index + 1) % every else {} for index in range(number)])


LINEAR_TYPE, INTERVAL = "linear_attention", "full_attention_interval"
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS = {
    "rms_norm_eps": 1e-6, "rope_theta": 10_000.0, SHARE: 0.25, "head_dim": 256, "attention_bias": False,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "attn_output_gate": True,
}  # fmt: skip
IF_MISSING = {"num_key_value_heads": 4, "tie_word_embeddings": False, "max_position_embeddings": 32_768}
OF_GRIDS = ("mrope_section", "mrope_interleaved")  # positions in images; of a text the three kinds are equal


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read the types of blocks: `layer_types`, or attention in each fourth."""
    values = IF_MISSING | with_defaults(_text_part(values), DEFAULTS)
    values[SCALING] = {key: value for key, value in (values.get(SCALING) or {}).items() if key not in OF_GRIDS}
    num_layers: Any = values.get("num_hidden_layers")
    if not is_size(num_layers):
        return values | {TYPES: []}  # the configuration says what is wrong
    numbers, every = range(min(num_layers, MOST_BLOCKS)), values.get(INTERVAL) or FULL_EVERY
    types = values.get(TYPES)
    if types is None:
        if not is_size(every):
            raise ValueError(f"{INTERVAL} must be a positive integer: received {shown(every)}.")
        types = [LINEAR_TYPE if (index + 1) % every else FULL for index in numbers]
    if {*types} - {FULL, LINEAR_TYPE} or len(types) != len(numbers):
        raise ValueError(
            f"{TYPES} must hold {FULL!r} or {LINEAR_TYPE!r} for each of {len(numbers)} layers: received {shown(types)}."
        )
    blocks = shortest([{} if kind == FULL else LINEAR for kind in types])
    return values | {TYPES: blocks if LINEAR in blocks else []}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    blocks, num_layers = make_block_options(values[TYPES] or [{}]), values["num_hidden_layers"]
    if {*blocks} - {BlockOptions(), BlockOptions(mixer=LINEAR["mixer"])}:
        raise ValueError(
            f"the qwen3_5_text format of Hugging Face has no place for block_options={shown(values[TYPES])}: expected "
            "mixer='gated_delta' or nothing."
        )
    mixers = [blocks[index % len(blocks)].mixer for index in range(num_layers)]
    return values | {TYPES: [FULL if mixer == "attention" else LINEAR_TYPE for mixer in mixers]}


def _text_part(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the text part of a model that reads images, too; others as they are."""
    part = read_text_part(values, "qwen3_5", IMAGES, CLASSES)
    return values if part is values else part | part[SCALING]


IMAGES = ("vision_config", "image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
CLASSES = {
    "Qwen3_5ForConditionalGeneration": "Qwen3_5ForCausalLM",
    "Qwen3_5ForSequenceClassification": "Qwen3_5TextForSequenceClassification",
    "Qwen3_5Model": "Qwen3_5TextModel",
}
_MIXER, _ATTENTION = f"{BLOCK}.linear_attn", f"{BLOCK}.self_attn"
QWEN3_5 = LLAMA._replace(
    model_type="qwen3_5_text",
    configure=qwen3_5,
    weights=LLAMA.weights
    | {
        "decoder_block_{i}/attention/query": f"{_ATTENTION}.q_proj.query",
        "decoder_block_{i}/attention/gate": f"{_ATTENTION}.q_proj.gate",
        "decoder_block_{i}/attention/query_norm": f"{_ATTENTION}.q_norm",
        "decoder_block_{i}/attention/key_norm": f"{_ATTENTION}.k_norm",
        "decoder_block_{i}/mixer/inputs": f"{_MIXER}.in_proj_qkv",
        "decoder_block_{i}/mixer/filter/kernel": f"{_MIXER}.conv1d.weight",
        "decoder_block_{i}/mixer/gate": f"{_MIXER}.in_proj_z",
        "decoder_block_{i}/mixer/rate": f"{_MIXER}.in_proj_b",
        "decoder_block_{i}/mixer/decay": f"{_MIXER}.in_proj_a",
        "decoder_block_{i}/mixer/decay_bias": f"{_MIXER}.dt_bias",
        "decoder_block_{i}/mixer/decay_log": f"{_MIXER}.A_log",
        "decoder_block_{i}/mixer/norm": f"{_MIXER}.norm",
        "decoder_block_{i}/mixer/output": f"{_MIXER}.out_proj",
        "decoder_block_{i}/mixer_norm": f"{BLOCK}.input_layernorm",
    },
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours not in BIASES}
    | {
        "attention_bias": "attention_bias",
        "attention_gate": "attn_output_gate",
        "partial_rotary_factor": SHARE,
        "kernel_size": "linear_conv_kernel_dim",
        "memory_heads": "linear_num_value_heads",
        "memory_key_heads": "linear_num_key_heads",
        "memory_key_dim": "linear_key_head_dim",
        "memory_value_dim": "linear_value_head_dim",
        "block_options": TYPES,
    },
    activations={"silu": "silu", "swish": "silu"},
    fixed={"attn_output_gate": True},
    fused=(Fused(r"model\.layers\.\d+\.self_attn\.q_proj", ("query", "gate"), groups=lambda config: config.num_heads),),
    reshaped={
        f"model.layers.{index}.linear_attn.conv1d.weight": Reshaped(
            read=lambda array: array[:, 0], write=lambda array: array[:, None]
        )
        for index in range(MOST_BLOCKS)
    },
    architectures={
        "Qwen3_5TextModel": (),
        "Qwen3_5ForCausalLM": ("lm_head",),
        "Qwen3_5TextForSequenceClassification": ("classifier",),
    },
    tasks={
        "causal_lm": "Qwen3_5ForCausalLM",
        "classification": "Qwen3_5TextForSequenceClassification",
        "sentence_embedding": "Qwen3_5TextModel",
        "ranking": "Qwen3_5ForCausalLM",
    },
    redundant=rf"{LLAMA.redundant}|(model\.)?(mtp|visual)\..*",
    remote_type="qwen3_5",
    renamed={"model.language_model.": "model.", "language_model.model.": "model.", "language_model.": "model."},
    read=_read,
    write=_write,
)
