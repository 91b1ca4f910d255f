"""GTE: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.choices import PAD_ID
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import bert
from keras_transformers.families.encoders.nomic_bert import NOMIC_BERT
from keras_transformers.families.encoders.roberta import HEAD, ROBERTA
from keras_transformers.families.rotary_keys import SCALING
from keras_transformers.families.table import Fused
from keras_transformers.utils.number_checks import is_finite
from keras_transformers.utils.untrusted import shown


def gte(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 8192, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe GTE: BERT with rotary positions, and gated layers whose first two projections have no biases.

    `activation_dropout` equals `dropout`, and attention weights have no dropout. Released models that read longer texts
    than they were trained with have the rotary positions of `ntk_scaling`.
    Paper: Zhang et al. 2024, https://arxiv.org/abs/2407.19669.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gte(30528, num_layers=12, num_heads=12, hidden_dim=768).positions
    'rotary'
    """
    facts = {
        "num_segments": 1, "pad_id": PAD_ID, "positions": "rotary", "max_wavelength": 160_000.0, "gated": True,
        "intermediate_bias": False, "attention_dropout": 0.0, "activation_dropout": options.get("dropout", 0.1),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert(*sizes, **(facts | options)).replace(family="gte")


def ntk_scaling(base: float, factor: float, head_dim: int) -> dict[str, Any]:
    """Return the rotary positions of a model that reads texts `factor` times as long as those it was trained with.

    The shortest wavelength grows by `factor ** (2 / head_dim)` and the longest by `factor` (formula 6 of
    https://kexue.fm/archives/9706).

    Args:
        base: `max_wavelength` of the training.
        factor: 1 changes nothing.
        head_dim: Width of a head.

    Returns:
        Options of a family's function: `max_wavelength` and `rotary_scaling`.

    Example:

    >>> ntk_scaling(500_000.0, factor=4.0, head_dim=4)
    {'max_wavelength': 2000000.0, 'rotary_scaling': {'kind': 'linear', 'factor': 2.0}}
    """
    linear = {"kind": "linear", "factor": factor ** (2 / head_dim)}
    return {"max_wavelength": base * factor, "rotary_scaling": linear}


BODY, REMOTE = "gte.", "new"
BLOCK, PARTS = BODY + "encoder.layer.{i}.", ("query", "key", "value")
# What a missing key means in `transformers`, and in the code that came with the release.
DEFAULT_THETA, REMOTE_THETA = 160_000.0, 10_000.0
NTK = "ntk"
REMOTE_KINDS = ("default", "linear", NTK)
FIXED = {
    "partial_rotary_factor": 1.0, "mixed_b": None, "position_embedding_type": "rope", "layer_norm_type": "layer_norm",
    "pack_qkv": True, "logn_attention_scale": False, "is_decoder": False, "add_cross_attention": False,
}  # fmt: skip


def _read(values: dict[str, Any]) -> dict[str, Any]:
    is_remote = values.get("model_type") == REMOTE
    values = {"rope_theta": REMOTE_THETA if is_remote else DEFAULT_THETA} | values
    if is_remote:
        values["architectures"] = [f"Gte{name.removeprefix('New')}" for name in values.get("architectures") or []]
    return values | _scaling(values)


def _scaling(values: dict[str, Any]) -> dict[str, Any]:
    """Return base and scale of the rotary positions, as linear ones: `ntk` is of the released files."""
    options = values.get(SCALING) or {}
    kind = options.get("rope_type", "default")
    if values.get("model_type") == REMOTE and kind not in REMOTE_KINDS:
        raise ValueError(f"rope_type={shown(kind)} is not supported; only {REMOTE_KINDS} are.")
    if kind != NTK:
        return {}
    factor = options.get("factor", 1.0)
    if not is_finite(factor) or factor < 1:
        raise ValueError(f"factor={shown(factor)} of rope_type={NTK!r} is not supported; only a number >= 1 is.")
    head_dim, width, heads = values.get("head_dim"), values.get("hidden_size"), values.get("num_attention_heads")
    if head_dim is None:  # a size that is missing is refused later
        head_dim = width // heads if width is not None and heads is not None else 2
    scaled = ntk_scaling(values["rope_theta"], factor, head_dim)
    linear = {"rope_type": "linear", "factor": scaled["rotary_scaling"]["factor"]}
    return {"rope_theta": scaled["max_wavelength"], SCALING: linear}


GTE = NOMIC_BERT._replace(
    model_type="gte",
    remote_type=REMOTE,
    configure=gte,
    tokenizer_class="XLMRobertaTokenizer",
    prefix=BODY,
    weights={
        "token_embedding": BODY + "embeddings.word_embeddings",
        "token_embedding/segment_embeddings": BODY + "embeddings.token_type_embeddings.weight",
        "embedding_norm": BODY + "embeddings.LayerNorm",
        **{f"encoder_block_{{i}}/attention/{part}": f"{BLOCK}attention.qkv_proj.{part}" for part in PARTS},
        "encoder_block_{i}/attention/output": BLOCK + "attention.o_proj",
        "encoder_block_{i}/attention_norm": BLOCK + "attn_ln",
        "encoder_block_{i}/feed_forward/intermediate": BLOCK + "mlp.up_gate_proj.intermediate",
        "encoder_block_{i}/feed_forward/gate": BLOCK + "mlp.up_gate_proj.gate",
        "encoder_block_{i}/feed_forward/output": BLOCK + "mlp.down_proj",
        "encoder_block_{i}/feed_forward_norm": BLOCK + "mlp_ln",
        "pooler": BODY + "pooler.dense",
        "masked_lm_dense": "lm_head.dense",
        "masked_lm_norm": "lm_head.norm",
        "masked_lm_bias/bias": "lm_head.decoder.bias",
        "classifier": "classifier",
    },
    weights_of={"GteModel": {"pooler": "pooler.dense"}},  # it has none
    optional=(BODY + "pooler.", "lm_head.", "classifier."),
    redundant="",
    copies={"lm_head.decoder.weight": BODY + "embeddings.word_embeddings.weight"},
    architectures={
        "GteModel": (),
        "GteForMaskedLM": HEAD,
        "GteForSequenceClassification": ("pooler", "classifier"),
        "GteForTokenClassification": ("classifier",),
    },
    tasks={task: name.replace("NomicBert", "Gte") for task, name in NOMIC_BERT.tasks.items()},
    fields=NOMIC_BERT.fields | {"rotary_scaling": SCALING},
    activations=ROBERTA.activations,  # the masked LM has GELU whatever `hidden_act` says
    fixed=FIXED,
    fused=(
        Fused(r".*\.attention\.qkv_proj", PARTS),
        Fused(r".*\.mlp\.up_gate_proj", ("intermediate", "gate")),
    ),
    read=_read,
)
