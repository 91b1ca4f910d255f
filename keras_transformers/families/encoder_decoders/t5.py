"""T5, version 1.0 and 1.1: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, SIZES, Names


def t5(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe T5: pre-norm stacks with RMS norms, relative positions, and neither biases nor a scale of the scores.

    With `gated=True` it is version 1.1 (and Flan-T5): gated GELU, and a separate output matrix, where version 1.0 ties
    it to the token embedding and scales the hidden states. Initialisers and dropouts are as in the release code
    (google-research/text-to-text-transfer-transformer). Paper: Raffel et al. 2019, https://arxiv.org/abs/1910.10683.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`. Positions are not bounded by `max_length`, but the texts of pre-training were.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> t5(32128, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=2048, gated=True).tie_embeddings
    False
    """
    gated, rate = options.get("gated", False), options.get("dropout", 0.1)
    facts = {
        "kind": "encoder_decoder", "dropout": rate, "attention_dropout": rate, "activation_dropout": rate,
        "final_dropout": True, "activation": "gelu_tanh" if gated else "relu", "epsilon": 1e-6, "norm": "rms",
        "norm_order": "pre", "positions": "relative", "attention_scale": 1.0, "use_bias": False,
        "initializer_range": "fan_in", "embedding_initializer_range": 1.0, "tie_embeddings": not gated,
        "scale_outputs": options.get("tie_embeddings", not gated), "decoder_start_id": options.get("pad_id", 0),
        "eos_ids": (1,),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return named_config("t5", sizes, facts | options)


PARTS = {"query": "q", "key": "k", "value": "v", "output": "o"}


def _block_weights(side: str, feed_forward: dict[str, str]) -> dict[str, str]:
    ours, theirs = f"{side}_block_{{i}}", f"{side}.block.{{i}}.layer"
    sublayers = [("attention", "SelfAttention", PARTS), ("feed_forward", "DenseReluDense", feed_forward)]
    if side == "decoder":
        sublayers.insert(1, ("cross_attention", "EncDecAttention", PARTS))
    weights: dict[str, str] = {}
    for index, (layer, name, parts) in enumerate(sublayers):
        weights |= {f"{ours}/{layer}/{part}": f"{theirs}.{index}.{name}.{leaf}" for part, leaf in parts.items()}
        weights[f"{ours}/{layer}_norm"] = f"{theirs}.{index}.layer_norm"
    # The first block holds the bias of the whole stack.
    weights[f"{side}_positions"] = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias"
    return weights | {f"{side}_final_norm": f"{side}.final_layer_norm"}


def _weights(feed_forward: dict[str, str]) -> dict[str, str]:
    blocks = _block_weights("encoder", feed_forward) | _block_weights("decoder", feed_forward)
    return {"token_embedding": "shared", "lm_head": "lm_head", **blocks}


def _read(values: dict[str, Any]) -> dict[str, Any]:
    """Split values such as `"gated-gelu"` (with the tanh approximation), and add the defaults of `transformers`."""
    *gated, activation = values.get("feed_forward_proj", "relu").split("-")
    if gated and activation == "gelu":
        activation = "gelu_new"
    # Version 5 of transformers always writes True for tie_word_embeddings; scale_decoder_outputs has the real value.
    tied = values.get("scale_decoder_outputs", values.get("tie_word_embeddings", True))
    split = {"dense_act_fn": activation, "is_gated_act": bool(gated)}  # values of the file win, if it has them
    return {"d_kv": 64} | split | values | {"tie_word_embeddings": tied}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    values, activation = dict(values), values["dense_act_fn"]
    del values["dense_act_fn"]
    if values.pop("is_gated_act"):
        activation = "gated-" + {"gelu_new": "gelu", "gelu": "gelu_python"}.get(activation, activation)
    values |= {"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128}
    return values | {"feed_forward_proj": activation, "is_encoder_decoder": True}


_PLAIN = Names(
    model_type="t5",
    configure=t5,
    tokenizer_class="T5Tokenizer",
    prefix="",
    weights=_weights({"intermediate": "wi", "output": "wo"}),
    optional=("lm_head.",),
    redundant=r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
    copies={
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
        "lm_head.weight": "shared.weight",
    },
    fallbacks={"lm_head.weight": "shared.weight"},  # version 5 of transformers ties 1.1 too, and does not scale it
    architectures={"T5Model": (), "T5ForConditionalGeneration": ("lm_head",)},
    tasks={"seq2seq_lm": "T5ForConditionalGeneration"},
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_layers",
        "num_decoder_layers": "num_decoder_layers",
        "num_heads": "num_heads",
        "head_dim": "d_kv",
        "hidden_dim": "d_model",
        "intermediate_dim": "d_ff",
        "max_length": "n_positions",
        "dropout": "dropout_rate",
        "attention_dropout": "dropout_rate",
        "activation_dropout": "dropout_rate",
        "activation": "dense_act_fn",
        "gated": "is_gated_act",
        "epsilon": "layer_norm_epsilon",
        "tie_embeddings": "tie_word_embeddings",
        "pad_id": "pad_token_id",
        "eos_ids": "eos_token_id",
        "decoder_start_id": "decoder_start_token_id",
    },
    activations=ACTIVATIONS,
    fixed={"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128},
    equal={},
    required=tuple(name for name in SIZES if name != "max_length"),
    read=_read,
    write=_write,
)
_GATED = _PLAIN._replace(weights=_weights({"gate": "wi_0", "intermediate": "wi_1", "output": "wo"}))
T5 = _PLAIN._replace(variants={"gated": _GATED})
