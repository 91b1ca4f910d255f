"""Gemma 3 and EmbeddingGemma: the function, and the names of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.rotary_scaling import as_dict
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.decoders.gemma import (
    BIDIRECTIONAL,
    DEFAULTS,
    FIELDS,
    NORMS,
    SHARED,
    WINDOW,
    check_window,
    gemma_config,
    read_scale,
    write_scale,
)
from keras_transformers.families.decoders.llama import BLOCK, LLAMA, named_like
from keras_transformers.families.layer_types import FULL, LOCAL, TYPES, read_types, shortest
from keras_transformers.families.rotary_keys import (
    PARAMETERS,
    SCALING,
    THETA,
    read_scaling,
    write_scaling,
)
from keras_transformers.families.table import with_defaults
from keras_transformers.families.text_part import read_text_part
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

FULL_EVERY, LOCAL_WAVELENGTH, WAVELENGTH = 6, 10_000.0, 1_000_000.0


def gemma3(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 32_768, *, window: int = 512, scaling: Mapping[str, Any] | None = None, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Gemma 3, or with `kind="encoder"` EmbeddingGemma: five blocks that see a window, then one that sees all.

    The blocks are Gemma 2's with norms of queries and keys in place of soft caps, and two bases of rotary positions.
    Papers: Gemma Team 2025, https://arxiv.org/abs/2503.19786; EmbeddingGemma: Vera et al. 2025,
    https://arxiv.org/abs/2509.20354.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `llama`.
        window: Size of the window, in tokens: 512 in the models of 270M and 1B, 1024 in larger ones.
        scaling: Scale of rotary positions in blocks that see all: `{"kind": "linear", "factor": 8.0}` in larger ones.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = gemma3(262_144, 18, 4, 640, 2048, num_kv_heads=1, head_dim=256)
    >>> [config.block(index).attention_window for index in range(4, 7)]
    [512, None, 512]
    """
    facts: dict[str, Any] = {"norm_order": "sandwich", "head_norm": "offset_rms", "max_wavelength": WAVELENGTH}
    if is_size(num_layers):  # if not, the configuration says so
        types = read_types({"num_hidden_layers": num_layers}, lambda index: (index + 1) % FULL_EVERY != 0)
        facts["block_options"] = typed_blocks(types, window, LOCAL_WAVELENGTH, scaling)
    if options.get("kind") == "encoder":
        facts["classifier_pooling"] = "last"
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return gemma_config("gemma3_text", sizes, facts | options)


def typed_blocks(
    types: list[str], window: Any, wavelength: Any, scaling: Any = None, local_scaling: Any = None
) -> list[dict[str, Any]]:
    """Return the `block_options` of blocks by their types.

    Args:
        types: Type of each block.
        window, wavelength, local_scaling: Options of blocks that see a window; `wavelength` None for the model's.
        scaling: Scale of rotary positions of blocks that see all.

    Example:

    >>> typed_blocks(["sliding_attention", "full_attention"], 8, 500.0)
    [{'attention_window': 8, 'max_wavelength': 500.0}, {}]
    """
    scaled: list[dict[str, Any]] = [{"rotary_scaling": one} if one else {} for one in (scaling, local_scaling)]
    options = {FULL: scaled[0], LOCAL: {"attention_window": window, "max_wavelength": wavelength, **scaled[1]}}
    blocks = shortest([options[kind] for kind in types])
    return [] if blocks == [{}] else blocks


LOCAL_BASE = "rope_local_base_freq"  # before version 5 of `transformers`
PATTERNS = ("sliding_window_pattern", "_sliding_window_pattern")  # of early files without a list of types
# The defaults of `transformers` for keys that config.json lacks; null is a value: none.
IF_MISSING = SHARED | {WINDOW: 4096, "num_key_value_heads": 4}
# The sizes that the files of models which read images, too, leave out.
SIZES = {
    "vocab_size": 262_208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "max_position_embeddings": 131_072,
}  # fmt: skip


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = IF_MISSING | with_defaults(_text_part(values), DEFAULTS | {THETA: WAVELENGTH})
    pattern = next((values[key] for key in PATTERNS if values.get(key) is not None), FULL_EVERY)
    if not is_size(pattern):
        raise ValueError(f"{PATTERNS[0]} must be a positive integer: received {shown(pattern)}.")
    types = read_types(values, lambda index: (index + 1) % pattern != 0)
    check_window(values[WINDOW], types)
    full, local = typed_positions(values)
    scales = (read_scaling(options, values.get("max_position_embeddings")) for options in (full, local))
    base = local.get(THETA, values.get(LOCAL_BASE) or LOCAL_WAVELENGTH)
    values |= {TYPES: typed_blocks(types, values[WINDOW], base, *scales), THETA: full.get(THETA, values[THETA])}
    return read_scale(values) | {BIDIRECTIONAL: "encoder" if values.get(BIDIRECTIONAL) else "decoder"}


def typed_positions(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of rotary positions in blocks that see all and in others; options of the older form win."""
    given, older = values.get(PARAMETERS) or {}, values.get(SCALING) or {}
    if unknown := {*given} - {FULL, LOCAL}:
        raise ValueError(
            f"{PARAMETERS} must hold {FULL!r} and {LOCAL!r} only: received {shown(sorted(unknown, key=str))}."
        )
    older = {} if {*older} <= {FULL, LOCAL} else older  # the newer form, which has been copied
    return {**(given.get(FULL) or {}), **older}, {**(given.get(LOCAL) or {})}


def write_typed(form: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of config.json for the types of blocks, the window, and both scales of rotary positions.

    Args:
        form: Name of the format, for the error message.
        values: Values by the keys of config.json, with `block_options` at `layer_types`.

    Raises:
        ValueError: Blocks of one type differ, or have other options.

    Example:

    >>> blocks = [{"attention_window": 8}, {}]
    >>> write_typed("olmo3", {"layer_types": blocks, "num_hidden_layers": 2, "rope_theta": 5.0})["layer_types"]
    ['sliding_attention', 'full_attention']
    """
    blocks, num_layers = make_block_options(values[TYPES] or [{}]), values["num_hidden_layers"]
    local = next((block for block in blocks if block.attention_window), BlockOptions())
    full = next((block for block in blocks if not block.attention_window), BlockOptions())
    window, base = local.attention_window or IF_MISSING[WINDOW], local.max_wavelength or values[THETA]
    scaling, local_scaling = (as_dict(block.rotary_scaling) for block in (full, local))
    types = [LOCAL if blocks[index % len(blocks)].attention_window else FULL for index in range(num_layers)]
    expected = typed_blocks(types[: len(blocks)], window, local.max_wavelength, scaling, local_scaling)
    if make_block_options(expected) != make_block_options(values[TYPES]):
        raise ValueError(
            f"the {form} format of Hugging Face has no place for block_options={shown(values[TYPES])}: expected "
            "the same for all blocks with a window, and for all others, which have the model's base."
        )
    bases = {FULL: write_scaling(scaling, values[THETA]), LOCAL: write_scaling(local_scaling, base)}
    older = {key: value for key, value in bases[FULL].items() if key != THETA} if scaling else None
    return {TYPES: types, WINDOW: window, PARAMETERS: bases, SCALING: older}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    typed = write_typed("gemma3_text", values)
    base = typed[PARAMETERS][LOCAL][THETA]
    return write_scale(values) | typed | {LOCAL_BASE: base, BIDIRECTIONAL: values[BIDIRECTIONAL] == "encoder"}


def _text_part(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the text part of a model that reads images, too; others as they are."""
    if values.get("text_config") is None and values.get("model_type") == "gemma3":
        raise ValueError("a gemma3 has no text_config: expected one, or model_type gemma3_text for a text model.")
    part = read_text_part(values, "gemma3", IMAGES, CLASSES)
    return values if part is values else SIZES | part


IMAGES = ("vision_config", "mm_tokens_per_image", "image_token_index", "boi_token_index", "eoi_token_index")
CLASSES = {
    "Gemma3ForConditionalGeneration": "Gemma3ForCausalLM",
    "Gemma3ForSequenceClassification": "Gemma3TextForSequenceClassification",
    "Gemma3Model": "Gemma3TextModel",
}
LEFT_OUT = ("attention_soft_cap", "rotary_scaling")  # not followed there; of single blocks
NAMED = named_like("Gemma3")
RENAMED = {"Gemma3Model": "Gemma3TextModel", "Gemma3ForSequenceClassification": "Gemma3TextForSequenceClassification"}
_WEIGHTS = LLAMA.weights | NORMS | {
    f"decoder_block_{{i}}/attention/{part}_norm": f"{BLOCK}.self_attn.{part[0]}_norm" for part in ("query", "key")
}  # fmt: skip
_OF_IMAGES = r"(model\.)?(vision_tower|multi_modal_projector)\..*"
GEMMA3 = LLAMA._replace(
    model_type="gemma3_text",
    configure=gemma3,
    weights=_WEIGHTS
    | {ours.replace("decoder", "encoder"): theirs for ours, theirs in _WEIGHTS.items() if "block" in ours},
    architectures={RENAMED.get(name, name): heads for name, heads in NAMED["architectures"].items()},
    tasks={task: RENAMED.get(name, name) for task, name in NAMED["tasks"].items()},
    fields={ours: theirs for ours, theirs in FIELDS.items() if ours not in LEFT_OUT} | {"kind": BIDIRECTIONAL},
    # `transformers` ignores the soft cap of scores, and other programs follow it: no released file has one.
    fixed={**LLAMA.fixed, FIELDS["attention_soft_cap"]: None},
    redundant=f"{LLAMA.redundant}|{_OF_IMAGES}",
    remote_type="gemma3",
    renamed={
        "language_model.lm_head.": "lm_head.",
        "language_model.model.": "model.",
        "language_model.": "model.",
        "model.language_model.": "model.",
    },
    read=_read,
    write=_write,
)
