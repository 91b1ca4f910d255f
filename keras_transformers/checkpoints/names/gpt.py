"""Names of GPT-1 and GPT-2."""

from keras_transformers import families
from keras_transformers.checkpoints.names.table import ACTIVATIONS, SIZES, Fused, Names

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
    configure=families.gpt2,
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
    configure=families.gpt1,
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
    },
    fields=FIELDS | {"activation": "afn"},
    activations={"gelu": "gelu_tanh", "relu": "relu", "silu": "silu", "swish": "silu"},
    fixed={},
)
