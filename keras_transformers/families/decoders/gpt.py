"""GPT-1 and GPT-2: the function, and the names of Hugging Face."""

from __future__ import annotations

import math
from typing import Any

from keras_transformers.config.limits import MOST_BLOCKS
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import ACTIVATIONS, SIZES, Fused, Names
from keras_transformers.utils.number_checks import is_size


def gpt1(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe GPT-1: a post-norm decoder with learned positions.

    GELU by its tanh approximation, dropout 0.1 and normal weights of 0.02 as in the release code
    (openai/finetune-transformer-lm). Paper: Radford et al. 2018, https://openai.com/index/language-unsupervised.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gpt1(40478, num_layers=12, num_heads=12, hidden_dim=768).norm_order
    'post'
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, None, max_length)
    return _gpt("openai-gpt", sizes, {"norm_order": "post", "embedding_norm": False} | options)


def gpt2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, max_length: int = 1024, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe GPT-2: a pre-norm decoder with learned positions.

    The weights of the layers that end in the residual stream start smaller, by 1 / sqrt(2 num_layers).
    Paper: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> gpt2(50257, num_layers=12, num_heads=12, hidden_dim=768).norm_order
    'pre'
    """
    facts: dict[str, Any] = {"norm_order": "pre"}
    if is_size(num_layers):  # if not, the configuration says so
        facts["output_initializer_range"] = 0.02 / math.sqrt(2 * min(int(num_layers), MOST_BLOCKS))
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, None, max_length)
    return _gpt("gpt2", sizes, facts | options)


def _gpt(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {
        "kind": "decoder", "dropout": 0.1, "attention_dropout": 0.1, "activation": "gelu_tanh", "epsilon": 1e-5,
        "norm": "layer", "positions": "learned", "initializer_range": 0.02,
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)


BLOCK = "transformer.h.{i}"
BLOCK_WEIGHTS = {
    "decoder_block_{i}/attention/query": f"{BLOCK}.attn.c_attn.query",
    "decoder_block_{i}/attention/key": f"{BLOCK}.attn.c_attn.key",
    "decoder_block_{i}/attention/value": f"{BLOCK}.attn.c_attn.value",
    "decoder_block_{i}/attention/output": f"{BLOCK}.attn.c_proj",
    "decoder_block_{i}/attention_norm": f"{BLOCK}.ln_1",
    "decoder_block_{i}/feed_forward/intermediate": f"{BLOCK}.mlp.c_fc",
    "decoder_block_{i}/feed_forward/output": f"{BLOCK}.mlp.c_proj",
    "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.ln_2",
    "lm_head": "lm_head",
    "classifier": "score",
}
FIELDS = {
    "vocabulary_size": "vocab_size",
    "num_layers": "n_layer",
    "num_heads": "n_head",
    "hidden_dim": "n_embd",
    "max_length": "n_positions",
    "dropout": "resid_pdrop",
    "attention_dropout": "attn_pdrop",
    "epsilon": "layer_norm_epsilon",
    "use_bias": "use_bias",  # not an option of transformers: it reads zero biases instead
    "initializer_range": "initializer_range",
    "tie_embeddings": "tie_word_embeddings",
    "pad_id": "pad_token_id",
    "bos_id": "bos_token_id",
    "eos_ids": "eos_token_id",
}

GPT2 = Names(
    model_type="gpt2",
    configure=gpt2,
    tokenizer_class="GPT2Tokenizer",
    prefix="transformer.",
    weights={
        "token_embedding": "transformer.wte",
        "position_embedding": "transformer.wpe",
        "final_norm": "transformer.ln_f",
        **BLOCK_WEIGHTS,
    },
    optional=("lm_head.", "score.", "multiple_choice_head."),
    # the causal mask, and the number that stands for minus infinity
    redundant=r"transformer\.(h\.\d+\.attn\.(bias|masked_bias)|position_ids)",
    copies={"lm_head.weight": "transformer.wte.weight"},
    architectures={
        "GPT2Model": (),
        "GPT2LMHeadModel": ("lm_head",),
        "GPT2ForSequenceClassification": ("classifier",),
    },
    tasks={
        "causal_lm": "GPT2LMHeadModel",
        "classification": "GPT2ForSequenceClassification",
        "sentence_embedding": "GPT2Model",
        "ranking": "GPT2LMHeadModel",  # by the logit of a token
    },
    fields=FIELDS | {"activation": "activation_function", "intermediate_dim": "n_inner"},
    activations=ACTIVATIONS,
    fixed={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
    equal={"embd_pdrop": "resid_pdrop"},
    required=tuple(name for name in SIZES if name != "intermediate_dim"),
    fused=(Fused(r"transformer\.h\.\d+\.attn\.c_attn", ("query", "key", "value")),),
    untransposed=("transformer.h.",),
    biased=r"transformer\.(h\.\d+\.(attn\.c_\w+|mlp\.c_\w+|ln_\d)|ln_f)",
)
GPT1 = GPT2._replace(
    model_type="openai-gpt",
    configure=gpt1,
    tokenizer_class="OpenAIGPTTokenizer",
    weights={
        "token_embedding": "transformer.tokens_embed",
        "position_embedding": "transformer.positions_embed",
        **BLOCK_WEIGHTS,
    },
    copies={"lm_head.weight": "transformer.tokens_embed.weight"},
    architectures={
        "OpenAIGPTModel": (),
        "OpenAIGPTLMHeadModel": ("lm_head",),
        "OpenAIGPTForSequenceClassification": ("classifier",),
    },
    tasks={
        "causal_lm": "OpenAIGPTLMHeadModel",
        "classification": "OpenAIGPTForSequenceClassification",
        "sentence_embedding": "OpenAIGPTModel",
        "ranking": "OpenAIGPTLMHeadModel",  # by the logit of a token
    },
    fields=FIELDS | {"activation": "afn"},
    activations={"gelu": "gelu_tanh", "relu": "relu", "silu": "silu", "swish": "silu"},
    fixed={},
)
