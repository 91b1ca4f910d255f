"""NomicBERT: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT, bert
from keras_transformers.families.table import Fused, with_defaults
from keras_transformers.utils.untrusted import shown


def nomic_bert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 2048, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe NomicBERT: BERT with rotary positions, gated layers, and biases in the norms alone.

    The base of the rotary positions, and 2,048 tokens, are those that the released models were trained with.
    Paper: Nussbaum et al. 2024, https://arxiv.org/abs/2402.01613.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> nomic_bert(30528, num_layers=12, num_heads=12, hidden_dim=768).positions
    'rotary'
    """
    facts: dict[str, Any] = {
        "positions": "rotary", "max_wavelength": 1000.0, "gated": True, "activation": "silu",
        "use_bias": False, "norm_bias": True, "dropout": 0.0, "attention_dropout": 0.0,
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return bert(*sizes, **(facts | options)).replace(family="nomic_bert")


BODY = "nomic_bert."
BLOCK = BODY + "encoder.layers.{i}."
DEFAULTS = {"rope_theta": 1000.0}  # of `transformers`
# Keys of the released files, which are those of GPT-2, and what `transformers` calls the same.
RELEASED = {
    "n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads",
    "n_inner": "intermediate_size", "layer_norm_epsilon": "layer_norm_eps", "rotary_emb_base": "rope_theta",
    "resid_pdrop": "hidden_dropout_prob", "attn_pdrop": "attention_probs_dropout_prob",
    "activation_function": "hidden_act",
}  # fmt: skip
FIXED = {
    "rope_type": "default", "partial_rotary_factor": 1.0, "rotary_emb_fraction": 1.0, "rotary_emb_scale_base": None,
    "rotary_emb_interleaved": False, "prenorm": False, "parallel_block": False,
    "causal": False, "use_rms_norm": False, "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False,
    "embd_pdrop": 0.0,
}  # fmt: skip
TRAINED = 2048  # tokens: longer texts need positions on another scale (`rotary_scaling`), and are cut
GATED = {"swiglu": "silu", "geglu": "gelu"}  # released names of gated layers, by their activation


def _read(values: dict[str, Any]) -> dict[str, Any]:
    found = {theirs: values[key] for key, theirs in RELEASED.items() if values.get(key) is not None}
    if values.get("n_positions") is not None:
        found["max_position_embeddings"] = min(values["n_positions"], values.get("max_trained_positions") or TRAINED)
    if (activation := found.get("hidden_act")) is not None:
        if activation not in GATED:
            raise ValueError(f"activation_function={shown(activation)} is not supported; only {sorted(GATED)} are.")
        found["hidden_act"] = GATED[activation]
    return with_defaults(values, DEFAULTS | found)


NOMIC_BERT = BERT._replace(
    model_type="nomic_bert",
    configure=nomic_bert,
    prefix=BODY,
    weights={
        "token_embedding": BODY + "embeddings.word_embeddings",
        "token_embedding/segment_embeddings": BODY + "embeddings.token_type_embeddings.weight",
        "embedding_norm": BODY + "emb_ln",
        **{f"encoder_block_{{i}}/attention/{part}": f"{BLOCK}attn.Wqkv.{part}" for part in ("query", "key", "value")},
        "encoder_block_{i}/attention/output": BLOCK + "attn.out_proj",
        "encoder_block_{i}/attention_norm": BLOCK + "norm1",
        "encoder_block_{i}/feed_forward/intermediate": BLOCK + "mlp.fc11",
        "encoder_block_{i}/feed_forward/gate": BLOCK + "mlp.fc12",
        "encoder_block_{i}/feed_forward/output": BLOCK + "mlp.fc2",
        "encoder_block_{i}/feed_forward_norm": BLOCK + "norm2",
        "pooler": BODY + "pooler.dense",
        "masked_lm_dense": "cls.predictions.transform.dense",
        "masked_lm_norm": "cls.predictions.transform.layer_norm",
        "masked_lm_bias/bias": "cls.predictions.bias",
        "classifier": "classifier",
    },
    weights_of={"NomicBertModel": {"pooler": "pooler.dense"}},  # it has none
    optional=(BODY + "pooler.", "cls.", "classifier."),
    redundant=r"nomic_bert\.(rotary_emb|encoder\.layers\.\d+\.attn\.rotary_emb)\.(original_)?inv_freq",
    copies={
        "cls.predictions.decoder.weight": BODY + "embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    architectures={
        "NomicBertModel": (),
        "NomicBertForMaskedLM": ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias"),
        "NomicBertForSequenceClassification": ("pooler", "classifier"),
        "NomicBertForTokenClassification": ("classifier",),
    },
    tasks={
        "masked_lm": "NomicBertForMaskedLM",
        "classification": "NomicBertForSequenceClassification",
        "token_classification": "NomicBertForTokenClassification",
        "sentence_embedding": "NomicBertModel",
        "ranking": "NomicBertForSequenceClassification",
    },
    fields=BERT.fields
    | {"max_wavelength": "rope_theta", "head_dim": "head_dim", "classifier_dropout": "classifier_dropout"},
    fixed=FIXED,
    fused=(Fused(r".*\.attn\.Wqkv", ("query", "key", "value")),),
    read=_read,
)
