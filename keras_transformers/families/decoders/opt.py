"""OPT: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.choices import first_position
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, SIZES, Names, after_unused, with_defaults


def opt(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 2048, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe OPT: a pre-norm decoder with learned positions and ReLU; the model of 350M is post-norm.

    Dropout after each sublayer and none after the embeddings, as in the release code (facebookresearch/metaseq).
    Paper: Zhang et al. 2022, https://arxiv.org/abs/2205.01068.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`; the
            model of 350M has `norm_order="post"` and `embedding_dim=512`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> opt(50272, num_layers=24, num_heads=16, hidden_dim=1024, norm_order="post", embedding_dim=512).output_dim
    512
    """
    shared = {
        "kind": "decoder", "dropout": 0.1, "embedding_dropout": 0.0, "attention_dropout": 0.0, "activation": "relu",
        "epsilon": 1e-5, "norm": "layer", "norm_order": "pre", "embedding_norm": False, "positions": "learned",
        "initializer_range": 0.02, "pad_id": 1, "bos_id": 2, "eos_ids": (2,),
    }  # fmt: skip
    if options.get("embedding_dim") == hidden_dim:  # there is no projection then
        options |= {"embedding_dim": None}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return named_config("opt", sizes, shared | options)


BODY, BLOCK = "model.decoder.", "model.decoder.layers.{i}"
POSITIONS, WIDTH, NORM_FIRST = BODY + "embed_positions", "word_embed_proj_dim", "do_layer_norm_before"


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = with_defaults(values, {WIDTH: values.get("hidden_size")})
    return values | {NORM_FIRST: "pre" if values.get(NORM_FIRST, True) else "post"}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    return with_defaults(values, {WIDTH: values["hidden_size"]}) | {NORM_FIRST: values[NORM_FIRST] == "pre"}


OPT = Names(
    model_type="opt",
    configure=opt,
    tokenizer_class="GPT2Tokenizer",
    prefix="model.",
    weights={
        "token_embedding": BODY + "embed_tokens",
        "token_projection": BODY + "project_in",
        "position_embedding": POSITIONS,
        "decoder_block_{i}/attention/query": f"{BLOCK}.self_attn.q_proj",
        "decoder_block_{i}/attention/key": f"{BLOCK}.self_attn.k_proj",
        "decoder_block_{i}/attention/value": f"{BLOCK}.self_attn.v_proj",
        "decoder_block_{i}/attention/output": f"{BLOCK}.self_attn.out_proj",
        "decoder_block_{i}/attention_norm": f"{BLOCK}.self_attn_layer_norm",
        "decoder_block_{i}/feed_forward/intermediate": f"{BLOCK}.fc1",
        "decoder_block_{i}/feed_forward/output": f"{BLOCK}.fc2",
        "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.final_layer_norm",
        "final_norm": BODY + "final_layer_norm",
        "output_projection": BODY + "project_out",
        "lm_head": "lm_head",
        "classifier": "score",
    },
    optional=("lm_head.", "score."),
    redundant=r"model\.decoder\.version",
    copies={"lm_head.weight": BODY + "embed_tokens.weight"},
    architectures={
        "OPTModel": (),
        "OPTForCausalLM": ("lm_head",),
        "OPTForSequenceClassification": ("classifier",),
    },
    tasks={
        "causal_lm": "OPTForCausalLM",
        "classification": "OPTForSequenceClassification",
        "sentence_embedding": "OPTModel",
        "ranking": "OPTForCausalLM",  # by the logit of a token
    },
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "ffn_dim",
        "embedding_dim": WIDTH,
        "max_length": "max_position_embeddings",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "activation": "activation_function",
        "norm_order": NORM_FIRST,
        "attention_bias": "enable_bias",
        "feed_forward_bias": "enable_bias",
        "initializer_range": "init_std",
        "tie_embeddings": "tie_word_embeddings",
        "pad_id": "pad_token_id",
        "bos_id": "bos_token_id",
        "eos_ids": "eos_token_id",
    },
    activations=ACTIVATIONS,
    fixed={"layerdrop": 0.0, "layer_norm_elementwise_affine": True, "_remove_final_layer_norm": False},
    equal={},
    required=SIZES,
    reshaped={f"{POSITIONS}.weight": after_unused(first_position())},  # fairseq's numbers of positions
    read=_read,
    write=_write,
)
