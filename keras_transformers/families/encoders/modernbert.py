"""ModernBERT: the function, and the names of Hugging Face."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from keras_transformers.config.block_options import make_block_options
from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.pre_norm import pre_norm_config, released_ids
from keras_transformers.families.table import ACTIVATIONS, MASKED_LM, Fused, Names, heads, reworded, with_defaults
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

FULL_EVERY, WINDOW, LOCAL_WAVELENGTH = 3, 128, 10_000.0  # ModernBERT's, and the defaults of `transformers`


def modernbert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int,
    max_length: int = 8192, *, local_wavelength: float = LOCAL_WAVELENGTH, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe ModernBERT, Ettin or mmBERT: a pre-norm encoder whose blocks see windows, but for each third one.

    No biases, a norm after the embeddings in place of the first block's, and two bases of rotary positions. Every head
    begins with a dense layer, GELU and a norm, and a classifier reads the mean of the tokens, as in the released files
    (AnswerDotAI/ModernBERT). In a vocabulary of the released size or more, the special tokens have the released ids.
    Papers: Warner et al. 2024, https://arxiv.org/abs/2412.13663; Ettin: Weller et al. 2025,
    https://arxiv.org/abs/2507.11412; mmBERT: Marone et al. 2025, https://arxiv.org/abs/2509.06888.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.
        local_wavelength: Base of the wavelengths in blocks that see windows; 160,000 in Ettin and mmBERT, as in blocks
            that see all.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> config = modernbert(50368, num_layers=22, num_heads=12, hidden_dim=768, intermediate_dim=1152)
    >>> [config.block(index).attention_window for index in range(4)]
    [None, 128, 128, None]
    """
    facts: dict[str, Any] = {
        "dropout": 0.0, "attention_dropout": 0.0, "classifier_dropout": 0.0, "activation": "gelu", "norm": "layer",
        "embedding_norm": True, "use_bias": False, "epsilon": 1e-5, "max_wavelength": 160_000.0,
        "classifier_pooling": "mean", "head_transform": "all", "head_bias": False,
        **released_ids(vocabulary_size, pad_id=50283, bos_id=50281, eos_id=50282),
    }  # fmt: skip
    if is_size(num_layers):  # if not, the configuration says so
        num_blocks = min(int(num_layers), MOST_BLOCKS)
        are_full = [index % FULL_EVERY == 0 for index in range(num_blocks)]
        facts["block_options"] = windowed(are_full, local_wavelength=local_wavelength)
        facts["output_initializer_range"] = 0.02 / math.sqrt(2 * num_blocks)
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return pre_norm_config("modernbert", sizes, facts | options)


def windowed(
    are_full: Sequence[bool], window: int = WINDOW, local_wavelength: float = LOCAL_WAVELENGTH
) -> tuple[dict[str, Any], ...]:
    """Return the `block_options` of ModernBERT: the first block has no norm before its attention.

    Args:
        are_full: Whether each block sees all tokens.
        window: Size of the window of the others, in tokens.
        local_wavelength: As for `modernbert`.

    Example:

    >>> windowed([True, False], window=8)[1]
    {'attention_window': 8, 'max_wavelength': 10000.0, 'attention_norm': True}
    """
    local = {"attention_window": window, "max_wavelength": local_wavelength}
    return tuple({**({} if full else local), "attention_norm": index > 0} for index, full in enumerate(are_full))


BODY, LAYER, BLOCK = "model.", "model.layers.{i}.", "encoder_block_{i}/"
TRANSFORM = ("pooler", "pooler_norm")
FULL, LOCAL = "full_attention", "sliding_attention"
TYPES, EVERY = "layer_types", "global_attn_every_n_layers"  # since version 5 of `transformers`, and before
BASES, BASE = "rope_parameters", {FULL: "global_rope_theta", LOCAL: "local_rope_theta"}  # likewise
WORDS = {"classifier_pooling": {"cls": "first", "mean": "mean"}, "classifier_activation": ACTIVATIONS}
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS: dict[str, Any] = {
    "attention_bias": False, "mlp_bias": False, "norm_bias": False, "classifier_bias": False,
    "classifier_pooling": "cls", "local_attention": WINDOW, EVERY: FULL_EVERY,
    BASE[FULL]: 160_000.0,
}  # fmt: skip


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Read windows and bases of rotary positions in both forms; as in `transformers`, the new one comes first."""
    values = {BASE[LOCAL]: LOCAL_WAVELENGTH} | with_defaults(values, DEFAULTS)
    given = values.get(BASES) or {}
    if unknown := {*given} - {FULL, LOCAL}:
        raise ValueError(f"{BASES} must hold {FULL!r} and {LOCAL!r} only: received {shown(sorted(unknown, key=str))}.")
    kinds = [values.get("rope_type"), *(options.get("rope_type") for options in given.values() if options)]
    values["rope_type"] = next((kind for kind in kinds if kind not in (None, "default")), "default")
    for kind, key in BASE.items():
        values[key] = (given.get(kind) or {}).get("rope_theta", values[key])
    local = values[BASE[FULL]] if values[BASE[LOCAL]] is None else values[BASE[LOCAL]]  # as before version 5
    if values.get("num_hidden_layers") is not None:
        are_full = [kind == FULL for kind in _layer_types(values, values["num_hidden_layers"])]
        values[TYPES] = windowed(are_full, values["local_attention"], local)
    return reworded(values, WORDS)


def _layer_types(values: dict[str, Any], num_layers: int) -> list[str]:
    types = values.get(TYPES)
    if types is None:
        return _every(values[EVERY], num_layers)
    if {*types} - {FULL, LOCAL} or len(types) != num_layers:
        raise ValueError(
            f"{TYPES} must hold {FULL!r} or {LOCAL!r} for each of {num_layers} layers: received {shown(types)}."
        )
    return types


def _every(number: int, num_layers: int) -> list[str]:
    return [LOCAL if index % number else FULL for index in range(min(num_layers, MOST_BLOCKS))]


def _write(values: dict[str, Any]) -> dict[str, Any]:
    """Write both forms, where the old one can say it."""
    blocks = make_block_options(values[TYPES])
    local = next((block for block in blocks if block.attention_window), None)
    window, base = (local.attention_window, local.max_wavelength) if local else (None, None)
    window, base = window or WINDOW, base or LOCAL_WAVELENGTH
    types = [LOCAL if block.attention_window else FULL for block in blocks]
    expected = make_block_options(windowed([kind == FULL for kind in types], window, base))
    if blocks != expected or len(blocks) != values["num_hidden_layers"]:
        raise ValueError(
            f"the modernbert format of Hugging Face has no place for block_options={shown(values[TYPES])}: expected "
            "one of each block, one window and one base for all blocks with a window, and no other norm left out "
            "than the first one."
        )
    bases = {FULL: values[BASE[FULL]], LOCAL: base}
    numbers = [number for number in range(1, len(types) + 1) if _every(number, len(types)) == types]
    return reworded(values, WORDS, back=True) | {
        TYPES: types,
        "local_attention": window,
        BASES: {kind: {"rope_theta": theta, "rope_type": "default"} for kind, theta in bases.items()},
        **{BASE[kind]: theta for kind, theta in bases.items()},
        **({EVERY: numbers[0]} if numbers else {}),
    }


MODERNBERT = Names(
    model_type="modernbert",
    configure=modernbert,
    prefix=BODY,
    weights={
        "token_embedding": BODY + "embeddings.tok_embeddings",
        "embedding_norm": BODY + "embeddings.norm",
        BLOCK + "attention_norm": LAYER + "attn_norm",
        **{f"{BLOCK}attention/{part}": f"{LAYER}attn.Wqkv.{part}" for part in ("query", "key", "value")},
        BLOCK + "attention/output": LAYER + "attn.Wo",
        BLOCK + "feed_forward_norm": LAYER + "mlp_norm",
        **{f"{BLOCK}feed_forward/{part}": f"{LAYER}mlp.Wi.{part}" for part in ("gate", "intermediate")},
        BLOCK + "feed_forward/output": LAYER + "mlp.Wo",
        "final_norm": BODY + "final_norm",
        "pooler": "head.dense",
        "pooler_norm": "head.norm",
        "masked_lm_dense": "head.dense",
        "masked_lm_norm": "head.norm",
        "masked_lm_bias/bias": "decoder.bias",
        "classifier": "classifier",
        "qa_outputs": "classifier",
    },
    optional=("head.", "decoder.", "classifier."),
    redundant="",
    copies={"decoder.weight": BODY + "embeddings.tok_embeddings.weight"},
    **heads(
        "ModernBert",
        MaskedLM=MASKED_LM,
        SequenceClassification=(*TRANSFORM, "classifier"),
        MultipleChoice=(*TRANSFORM, "classifier"),
        TokenClassification=(*TRANSFORM, "classifier"),
        QuestionAnswering=(*TRANSFORM, "qa_outputs"),
    ),
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "max_length": "max_position_embeddings",
        "dropout": "embedding_dropout",
        "attention_dropout": "attention_dropout",
        "activation_dropout": "mlp_dropout",
        "classifier_dropout": "classifier_dropout",
        "activation": "hidden_activation",
        "pooler_activation": "classifier_activation",
        "classifier_pooling": "classifier_pooling",
        "head_bias": "classifier_bias",
        "attention_bias": "attention_bias",
        "feed_forward_bias": "mlp_bias",
        "norm_bias": "norm_bias",
        "epsilon": "norm_eps",
        "initializer_range": "initializer_range",
        "max_wavelength": BASE[FULL],
        "block_options": TYPES,
        "pad_id": "pad_token_id",
        "bos_id": "bos_token_id",
        "eos_ids": "eos_token_id",
    },
    activations=ACTIVATIONS,
    fixed={"rope_type": "default", "decoder_bias": True},
    equal={},
    fused=(
        Fused(r"model\.layers\.\d+\.attn\.Wqkv", ("query", "key", "value")),
        Fused(r"model\.layers\.\d+\.mlp\.Wi", ("gate", "intermediate")),
    ),
    read=_read,
    write=_write,
)
