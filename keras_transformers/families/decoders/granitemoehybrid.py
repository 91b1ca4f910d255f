"""Granite 4 where it is dense: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.granite import GRANITE
from keras_transformers.families.decoders.llama import BLOCK, LLAMA, llama_config
from keras_transformers.families.table import Fused, with_defaults
from keras_transformers.utils.untrusted import shown


def granitemoehybrid(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 32_768, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Granite 4 of 350M or 1B: Granite's blocks, in files of a family that may have experts and Mamba layers.

    Models with these layers are refused. Epsilon and base of wavelengths are the released files'
    (ibm-granite/granite-4.0-350m).

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `granite`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> granitemoehybrid(100_352, 28, 16, 1024, 2048, num_kv_heads=4, residual_scale=0.263).attention_scale
    1.0
    """
    facts = {"epsilon": 1e-5, "attention_scale": 1.0, "tie_embeddings": True, "max_wavelength": 10_000_000.0}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return llama_config("granitemoehybrid", sizes, facts | options)


TYPES, KIND, ATTENTION = "layer_types", "position_embedding_type", ("attention", "full_attention")
# The defaults of `transformers` for options that config.json omits: not what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-6, "rope_theta": 10_000.0}
IF_MISSING = {"bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False, "num_local_experts": 8}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read the positions, and refuse other layers than attention."""
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    types = values.get(TYPES) or values.get("layers_block_type") or ["mamba"]
    if {*types} - {*ATTENTION}:
        raise ValueError(f"{TYPES} has {shown(sorted({*types} - {*ATTENTION}))}: only 'attention' is supported.")
    return values | {KIND: [] if values.get(KIND) == "rope" else [{"rotary": False}]}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    blocks = make_block_options(values[KIND] or [{}])
    if blocks not in ((BlockOptions(),), (BlockOptions(rotary=False),)):
        raise ValueError(
            f"the granitemoehybrid format of Hugging Face has no place for block_options={shown(values[KIND])}: "
            "expected rotary=False in all blocks, or nothing."
        )
    types = ["attention"] * values["num_hidden_layers"]
    return values | {KIND: "rope" if blocks[0].rotary else None, TYPES: types} | UNUSED


# Of no layer; the classes of `transformers` check the sizes of Mamba's.
UNUSED = {"num_local_experts": 0, "num_experts_per_tok": 0, "mamba_n_heads": 1, "mamba_d_head": "auto"}
FEED_FORWARD = f"{BLOCK}.shared_mlp"
GRANITE_MOE_HYBRID = GRANITE._replace(
    model_type="granitemoehybrid",
    configure=granitemoehybrid,
    weights=LLAMA.weights
    | {
        "decoder_block_{i}/feed_forward/gate": f"{FEED_FORWARD}.input_linear.gate",
        "decoder_block_{i}/feed_forward/intermediate": f"{FEED_FORWARD}.input_linear.intermediate",
        "decoder_block_{i}/feed_forward/output": f"{FEED_FORWARD}.output_linear",
    },
    fields={ours: theirs for ours, theirs in GRANITE.fields.items() if ours not in ("feed_forward_bias", "head_dim")}
    | {"intermediate_dim": "shared_intermediate_size", "block_options": KIND},
    fixed=GRANITE.fixed | {"num_local_experts": 0},
    fused=(Fused(r"model\.layers\.\d+\.shared_mlp\.input_linear", ("gate", "intermediate")),),
    architectures={"GraniteMoeHybridModel": (), "GraniteMoeHybridForCausalLM": ("lm_head",)},
    tasks={task: name.replace("Granite", "GraniteMoeHybrid") for task, name in GRANITE.tasks.items()},
    read=_read,
    write=_write,
)
