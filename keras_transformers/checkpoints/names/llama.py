"""Names of Llama and models of the same architecture."""

from keras_transformers import families
from keras_transformers.checkpoints.names.table import ACTIVATIONS, Names

BLOCK = "model.layers.{i}"

LLAMA = Names(
    model_type="llama",
    configure=families.llama,
    prefix="model.",
    weights={
        "token_embedding": "model.embed_tokens",
        "decoder_block_{i}/attention/query": f"{BLOCK}.self_attn.q_proj",
        "decoder_block_{i}/attention/key": f"{BLOCK}.self_attn.k_proj",
        "decoder_block_{i}/attention/value": f"{BLOCK}.self_attn.v_proj",
        "decoder_block_{i}/attention/output": f"{BLOCK}.self_attn.o_proj",
        "decoder_block_{i}/attention_norm": f"{BLOCK}.input_layernorm",
        "decoder_block_{i}/feed_forward/gate": f"{BLOCK}.mlp.gate_proj",
        "decoder_block_{i}/feed_forward/intermediate": f"{BLOCK}.mlp.up_proj",
        "decoder_block_{i}/feed_forward/output": f"{BLOCK}.mlp.down_proj",
        "decoder_block_{i}/feed_forward_norm": f"{BLOCK}.post_attention_layernorm",
        "final_norm": "model.norm",
        "lm_head": "lm_head",
        "classifier": "score",
    },
    optional=("lm_head.", "score."),
    redundant=r"model\.(layers\.\d+\.self_attn\.)?rotary_emb\.(inv_freq|original_inv_freq|cos_cached|sin_cached)",
    copies={"lm_head.weight": "model.embed_tokens.weight"},
    architectures={
        "LlamaModel": (),
        "LlamaForCausalLM": ("lm_head",),
        "LlamaForSequenceClassification": ("classifier",),
    },
    tasks={
        "causal_lm": "LlamaForCausalLM",
        "classification": "LlamaForSequenceClassification",
        "sentence_embedding": "LlamaModel",
    },
    fields={
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "num_kv_heads": "num_key_value_heads",
        "head_dim": "head_dim",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "max_length": "max_position_embeddings",
        "attention_dropout": "attention_dropout",
        "activation": "hidden_act",
        "epsilon": "rms_norm_eps",
        "use_bias": "attention_bias",
        "initializer_range": "initializer_range",
        "max_wavelength": "rope_theta",
        "tie_embeddings": "tie_word_embeddings",
        "pad_id": "pad_token_id",
        "bos_id": "bos_token_id",
        "eos_ids": "eos_token_id",
    },
    activations=ACTIVATIONS,
    fixed={"rope_type": "default", "partial_rotary_factor": 1.0},
    equal={"mlp_bias": "attention_bias"},
)
