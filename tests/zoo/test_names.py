"""What the zoo says of its models, against the models themselves and the papers."""

from __future__ import annotations

import dataclasses
import json

import keras
import pytest
from class_models import has_pooler
from shapes import shapes_only

import zoo
from keras_transformers.checkpoints.hub import parse
from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import FAMILIES, architecture_of, task_names
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads import language_model_head, pooler
from keras_transformers.models import decoder, encoder, encoder_decoder
from keras_transformers.tasks import Task
from zoo import phi3_5_mini, phi4_mini
from zoo.registry.entry import BUNDLED, Entry

PUBLISHED = {  # encoder with its pooler, if it has one; decoder with its head, beside its encoder
    "bert_tiny_en_uncased": 4_385_920,
    "bert_mini_en_uncased": 11_170_560,
    "bert_small_en_uncased": 28_763_648,
    "bert_medium_en_uncased": 41_373_184,
    "bert_base_en_uncased": 109_482_240,
    "bert_base_en_cased": 108_310_272,
    "bert_large_en_uncased": 335_141_888,
    "bert_large_en_cased": 333_579_264,
    "roberta_base": 124_645_632,
    "roberta_large": 355_359_744,
    "xlm_roberta_base": 278_043_648,
    "xlm_roberta_large": 559_890_432,
    "distilbert_base": 66_362_880,
    "distilbert_base_multilingual": 134_734_080,
    "all_mpnet_base_v2": 109_486_464,
    "minilm_l12": 33_360_000,
    "ms_marco_minilm_l6": 22_713_216,
    "multilingual_e5_small": 117_653_760,
    "multilingual_e5_base": 278_043_648,
    "multilingual_e5_large": 559_890_432,
    "bge_small_en": 33_360_000,
    "bge_base_en": 109_482_240,
    "bge_large_en": 335_141_888,
    "bge_m3": 567_754_752,
    "bge_reranker_base": 278_043_648,
    "bge_reranker_v2_m3": 567_754_752,
    "albert_base_v2": 11_683_584,
    "nomic_embed_v1_5": 136_731_648,
    "gte_base_en_v1_5": 136_776_192,
    "gte_large_en_v1_5": 434_139_136,
    "gte_multilingual_base": 305_368_320,
    "electra_small": 13_483_008,
    "electra_base": 108_891_648,
    "electra_large": 334_092_288,
    "modernbert_base": 149_014_272,
    "modernbert_large": 394_781_696,
    "ettin_17m": 16_797_440,
    "ettin_32m": 31_883_136,
    "ettin_68m": 68_144_640,
    "ettin_150m": 149_014_272,
    "ettin_400m": 394_781_696,
    "ettin_1b": 1_028_050_688,
    "mmbert_small": 140_493_696,
    "mmbert_base": 306_939_648,
    "gte_modernbert_base": 149_014_272,
    "eurobert_210m": 211_766_016,
    "deberta_v3_xsmall": 70_682_112,
    "deberta_v3_small": 141_304_320,
    "deberta_v3_base": 183_831_552,
    "deberta_v3_large": 434_012_160,
    "mdeberta_v3_base": 278_218_752,
    "gpt1": 116_534_784,
    "gpt2": 124_439_808,
    "gpt2_medium": 354_823_168,
    "gpt2_large": 774_030_080,
    "gpt2_xl": 1_557_611_200,
    "distilgpt2": 81_912_576,
    "granite3_1_2b": 2_533_531_648,
    "granite_4_350m": 352_379_904,
    "granite_4_1b": 1_631_750_144,
    "olmo2_1b": 1_484_916_736,
    "opt_125m": 125_239_296 - 2 * 768,
    "opt_350m": 331_196_416 - 2 * 1024,
    "opt_1_3b": 1_315_758_080 - 2 * 2048,
    "phi3_mini": 3_821_079_552,
    "phi3_5_mini": 3_821_079_552,
    "phi4_mini": 3_836_021_760,
    "pythia_70m": 70_426_624,
    "pythia_160m": 162_322_944,
    "pythia_410m": 405_334_016,
    "pythia_1b": 1_011_781_632,
    "pythia_1_4b": 1_414_647_808,
    "smollm3_3b": 3_075_098_624,
    "smollm2_135m": 134_515_008,
    "lfm2_350m": 354_483_968,
    "lfm2_700m": 742_489_344,
    "lfm2_1_2b": 1_170_340_608,
    "smollm2_360m": 361_821_120,
    "gemma2_2b": 2_614_341_888,
    "bge_reranker_v2_gemma": 2_506_172_416,
    "gemma3_270m": 268_098_176,
    "gemma3_1b": 999_885_952,
    "embeddinggemma_300m": 302_863_104,
    "qwen3_0_6b": 596_049_920,
    "qwen3_1_7b": 1_720_574_976,
    "qwen3_4b": 4_022_468_096,
    "qwen3_embedding_0_6b": 595_776_512,
    "qwen3_reranker_0_6b": 595_776_512,
    "qwen3_5_0_8b": 752_393_024,
    "qwen3_5_2b": 1_881_825_088,
    "qwen2_5_0_5b": 494_032_768,
    "qwen2_5_0_5b_instruct": 494_032_768,
    "qwen2_5_1_5b": 1_543_714_304,
    "qwen2_5_1_5b_instruct": 1_543_714_304,
    "llama3_2_1b": 1_235_814_400,
    "llama3_2_1b_instruct": 1_235_814_400,
    "llama3_2_3b": 3_212_749_824,
    "llama3_2_3b_instruct": 3_212_749_824,
    "tinyllama": 1_100_048_384,
    "opus_mt_en_de": 73_944_309,
    "t5_small": 60_506_624,
    "t5_base": 222_903_552,
    "t5_v1_1_base": 247_577_856,
    "bart_base": 139_417_344,
    "bart_large": 406_287_360,
}
# What transformers counts besides: rows of positions that are never used; sines and cosines, but no bias of logits.
# It takes the output matrix of T5 1.1 for the embedding.
MORE = {
    "bart_base": 4 * 768,
    "bart_large": 4 * 1024,
    "opt_125m": 2 * 768,
    "opt_350m": 2 * 1024,
    "opt_1_3b": 2 * 2048,
    "opus_mt_en_de": 2 * 512 * 512 - 58_101,
    "t5_v1_1_base": -32_128 * 768,
}


def whole(config: TransformerConfig) -> keras.Model:
    """What the parameters of an entry are counted of."""
    build = {"encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder}[config.kind]
    model = build(config, dtype="float32")
    states = model.output["hidden_states"]
    if config.kind == "encoder":
        bare = architecture_of("sentence_embedding", config.family)
        if FAMILIES[config.family].prefix and not has_pooler(config, bare):
            return model
        return keras.Model(model.input, pooler(config, states, "float32"))
    return keras.Model(model.input, language_model_head(config, model.get_layer("token_embedding"), states))


@pytest.mark.integration(quick=["lstm_lm", "bert_tiny_en_uncased"])
@pytest.mark.parametrize("name", zoo.names())
def test_parameters_are_those_of_the_model(name):
    entry = zoo.describe(name)
    with shapes_only():
        assert whole(entry.config).count_params() == entry.parameters


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_parameters_are_the_published_ones(name, parameters):
    assert zoo.describe(name).parameters == parameters


GEMMA3 = {
    "architectures": ["Gemma3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
    "attn_logit_softcapping": None, "bos_token_id": 2, "eos_token_id": 1, "final_logit_softcapping": None,
    "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "initializer_range": 0.02,
    "max_position_embeddings": 32768, "model_type": "gemma3_text", "num_attention_heads": 4, "num_key_value_heads": 1,
    "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000,
    "rope_scaling": None, "rope_theta": 1000000, "sliding_window": 512, "use_cache": True, "vocab_size": 262144,
}  # fmt: skip
TYPES = [*["sliding_attention"] * 5, "full_attention"]
PHI3 = {
    "architectures": ["Phi3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "embd_pdrop": 0.0,
    "hidden_act": "silu", "hidden_size": 3072, "initializer_range": 0.02, "intermediate_size": 8192,
    "max_position_embeddings": 131072, "model_type": "phi3", "num_hidden_layers": 32,
    "original_max_position_embeddings": 4096, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
    "sliding_window": 262144, "torch_dtype": "bfloat16", "use_cache": True,
}  # fmt: skip
QWEN3_5 = {
    "architectures": ["Qwen3_5ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
    "attn_output_gate": True, "bos_token_id": None, "dtype": "bfloat16", "eos_token_id": 248044,
    "full_attention_interval": 4, "head_dim": 256, "hidden_act": "silu", "initializer_range": 0.02,
    "layer_types": [*["linear_attention"] * 3, "full_attention"] * 6, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 16,
    "linear_value_head_dim": 128, "mamba_ssm_dtype": "float32", "max_position_embeddings": 262144,
    "mlp_only_layers": [], "model_type": "qwen3_5_text", "mtp_num_hidden_layers": 1,
    "mtp_use_dedicated_embeddings": False, "num_attention_heads": 8, "num_hidden_layers": 24,
    "num_key_value_heads": 2, "pad_token_id": None, "partial_rotary_factor": 0.25, "rms_norm_eps": 1e-06,
    "rope_parameters": {
        "mrope_interleaved": True, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25,
        "rope_theta": 10000000, "rope_type": "default",
    }, "tie_word_embeddings": True, "vocab_size": 248320,
}  # fmt: skip
# The config.json of the release, but for what says nothing of the model.
RELEASED = {
    "llama3_2_1b": {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
        "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": False,
        "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
        "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {
            "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
            "rope_type": "llama3",
        }, "rope_theta": 500000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "vocab_size": 128256,
    },
    "qwen3_0_6b": {
        "architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
        "initializer_range": 0.02, "intermediate_size": 3072, "max_position_embeddings": 40960,
        "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28,
        "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 1000000,
        "sliding_window": None, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_sliding_window": False,
        "vocab_size": 151936,
    },
    "qwen2_5_0_5b": {
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
        "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02,
        "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2",
        "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
        "use_mrope": False, "use_sliding_window": False, "vocab_size": 151936,
    },
    "lfm2_1_2b": {
        "architectures": ["Lfm2ForCausalLM"], "block_auto_adjust_ff_dim": True, "block_dim": 2048,
        "block_ff_dim": 12288, "block_ffn_dim_multiplier": 1.0, "block_mlp_init_scale": 1.0, "block_multiple_of": 256,
        "block_norm_eps": 1e-05, "block_out_init_scale": 1.0, "block_use_swiglu": True, "block_use_xavier_init": True,
        "bos_token_id": 1, "conv_L_cache": 3, "conv_bias": False, "conv_dim": 2048, "conv_dim_out": 2048,
        "conv_use_xavier_init": True, "eos_token_id": 7, "full_attn_idxs": [2, 5, 8, 10, 12, 14], "hidden_size": 2048,
        "initializer_range": 0.02, "max_position_embeddings": 128000, "model_type": "lfm2", "norm_eps": 1e-05,
        "num_attention_heads": 32, "num_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
        "pad_token_id": 0, "rope_theta": 1000000.0, "torch_dtype": "bfloat16", "use_cache": True, "use_pos_enc": True,
        "vocab_size": 65536,
    },
    "roberta_base": {
        "architectures": ["RobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0,
        "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
        "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514,
        "model_type": "roberta", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1,
        "type_vocab_size": 1, "vocab_size": 50265,
    },
    "nomic_embed_v1_5": {
        "activation_function": "swiglu", "architectures": ["NomicBertModel"], "attn_pdrop": 0.0, "bos_token_id": None,
        "causal": False, "dense_seq_output": True, "embd_pdrop": 0.0, "eos_token_id": None, "fused_bias_fc": True,
        "fused_dropout_add_ln": True, "initializer_range": 0.02, "layer_norm_epsilon": 1e-12,
        "max_trained_positions": 2048, "mlp_fc1_bias": False, "mlp_fc2_bias": False, "model_type": "nomic_bert",
        "n_embd": 768, "n_head": 12, "n_inner": 3072, "n_layer": 12, "n_positions": 8192,
        "pad_vocab_size_multiple": 64, "parallel_block": False, "parallel_block_tied_norm": False, "prenorm": False,
        "qkv_proj_bias": False, "reorder_and_upcast_attn": False, "resid_pdrop": 0.0, "rotary_emb_base": 1000,
        "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "rotary_emb_scale_base": None,
        "rotary_scaling_factor": None, "scale_attn_weights": True, "type_vocab_size": 2, "use_cache": True,
        "use_flash_attn": True, "use_rms_norm": False, "use_xentropy": True, "vocab_size": 30528,
    },
    "gte_multilingual_base": {
        "architectures": ["NewModel", "NewForTokenClassification"], "attention_probs_dropout_prob": 0.0,
        "classifier_dropout": 0.0, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
        "id2label": {"0": "LABEL_0"}, "initializer_range": 0.02, "intermediate_size": 3072,
        "label2id": {"LABEL_0": 0}, "layer_norm_eps": 1e-12, "layer_norm_type": "layer_norm",
        "logn_attention_clip1": False, "logn_attention_scale": False, "max_position_embeddings": 8192,
        "model_type": "new", "num_attention_heads": 12, "num_hidden_layers": 12, "pack_qkv": True, "pad_token_id": 1,
        "position_embedding_type": "rope", "rope_scaling": {"factor": 8.0, "type": "ntk"}, "rope_theta": 20000,
        "torch_dtype": "float16", "type_vocab_size": 1, "unpad_inputs": False,
        "use_memory_efficient_attention": False, "vocab_size": 250048,
    },
    "electra_small": {
        "architectures": ["ElectraForPreTraining"], "attention_probs_dropout_prob": 0.1, "embedding_size": 128,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 256, "initializer_range": 0.02,
        "intermediate_size": 1024, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "electra",
        "num_attention_heads": 4, "num_hidden_layers": 12, "pad_token_id": 0,
        "position_embedding_type": "absolute", "summary_activation": "gelu", "summary_last_dropout": 0.1,
        "summary_type": "first", "summary_use_proj": True, "type_vocab_size": 2, "vocab_size": 30522,
    },
    "modernbert_base": {
        "architectures": ["ModernBertForMaskedLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 50281, "classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0,
        "classifier_pooling": "mean", "cls_token_id": 50281, "decoder_bias": True, "deterministic_flash_attn": False,
        "embedding_dropout": 0.0, "eos_token_id": 50282, "global_attn_every_n_layers": 3,
        "global_rope_theta": 160000.0, "gradient_checkpointing": False, "hidden_activation": "gelu",
        "hidden_size": 768, "initializer_cutoff_factor": 2.0, "initializer_range": 0.02, "intermediate_size": 1152,
        "layer_norm_eps": 1e-05, "local_attention": 128, "local_rope_theta": 10000.0,
        "max_position_embeddings": 8192, "mlp_bias": False, "mlp_dropout": 0.0, "model_type": "modernbert",
        "norm_bias": False, "norm_eps": 1e-05, "num_attention_heads": 12, "num_hidden_layers": 22,
        "pad_token_id": 50283, "position_embedding_type": "absolute", "sep_token_id": 50282,
        "tie_word_embeddings": True, "torch_dtype": "float32", "vocab_size": 50368,
    },
    "deberta_v3_base": {
        "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
        "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-07, "max_position_embeddings": 512,
        "max_relative_positions": -1, "model_type": "deberta-v2", "norm_rel_ebd": "layer_norm",
        "num_attention_heads": 12, "num_hidden_layers": 12, "pos_att_type": "p2c|c2p", "position_biased_input": False,
        "position_buckets": 256, "relative_attention": True, "share_att_key": True, "type_vocab_size": 0,
        "vocab_size": 128100,
    },
    "gpt1": {
        "afn": "gelu", "architectures": ["OpenAIGPTLMHeadModel"], "attn_pdrop": 0.1, "embd_pdrop": 0.1,
        "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "openai-gpt", "n_ctx": 512,
        "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 512, "n_special": 0,
        "predict_special_tokens": True, "resid_pdrop": 0.1, "vocab_size": 40478,
    },
    "distilgpt2": {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
        "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "id2label": {"0": "LABEL_0"},
        "initializer_range": 0.02, "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
        "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_inner": None, "n_layer": 6, "n_positions": 1024,
        "resid_pdrop": 0.1, "vocab_size": 50257,
    },
    "opt_350m": {
        "_remove_final_layer_norm": False, "activation_dropout": 0.0, "activation_function": "relu",
        "architectures": ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2,
        "do_layer_norm_before": False, "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 4096, "hidden_size": 1024,
        "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048, "model_type": "opt",
        "num_attention_heads": 16, "num_hidden_layers": 24, "pad_token_id": 1, "prefix": "</s>", "use_cache": True,
        "vocab_size": 50272, "word_embed_proj_dim": 512,
    },
    "pythia_70m": {
        "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu",
        "hidden_size": 512, "initializer_range": 0.02, "intermediate_size": 2048, "layer_norm_eps": 1e-05,
        "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 8, "num_hidden_layers": 6,
        "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": False, "use_cache": True,
        "use_parallel_residual": True, "vocab_size": 50304,
    },
    "smollm2_135m": {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0,
        "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
        "intermediate_size": 1536, "is_llama_config": True, "max_position_embeddings": 8192, "model_type": "llama",
        "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1,
        "rms_norm_eps": 1e-05, "rope_interleaved": False, "rope_scaling": None, "rope_theta": 100000,
        "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": True, "vocab_size": 49152,
    },
    "gemma2_2b": {
        "architectures": ["Gemma2ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
        "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304, "initializer_range": 0.02,
        "intermediate_size": 9216, "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8,
        "num_hidden_layers": 26, "num_key_value_heads": 4, "pad_token_id": 0, "query_pre_attn_scalar": 256,
        "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096, "torch_dtype": "float32",
        "use_cache": True, "vocab_size": 256000,
    },
    "gemma3_270m": GEMMA3 | {
        "_sliding_window_pattern": 6, "hidden_size": 640, "intermediate_size": 2048, "layer_types": TYPES * 3,
        "num_hidden_layers": 18, "use_bidirectional_attention": False,
    },
    "gemma3_1b": GEMMA3 | {
        "cache_implementation": "hybrid", "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26,
        "sliding_window_pattern": 6,
    },
    "embeddinggemma_300m": GEMMA3 | {
        "_sliding_window_pattern": 6, "architectures": ["Gemma3TextModel"], "hidden_size": 768,
        "intermediate_size": 1152, "layer_types": TYPES * 4, "max_position_embeddings": 2048,
        "num_attention_heads": 3, "num_hidden_layers": 24, "use_bidirectional_attention": True,
    },
    "bge_reranker_v2_gemma": {
        "architectures": ["GemmaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 2,
        "eos_token_id": 1, "head_dim": 256, "hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 16384, "max_position_embeddings": 8192,
        "model_type": "gemma", "num_attention_heads": 8, "num_hidden_layers": 18, "num_key_value_heads": 1,
        "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 10000.0,
        "torch_dtype": "float32", "use_cache": True, "vocab_size": 256000,
    },
    "phi3_5_mini": PHI3 | {
        "bos_token_id": 1, "eos_token_id": 32000, "num_attention_heads": 32, "num_key_value_heads": 32,
        "pad_token_id": 32000, "tie_word_embeddings": False, "vocab_size": 32064, "rope_scaling": {
            "long_factor": [*phi3_5_mini.LONG], "short_factor": [*phi3_5_mini.SHORT], "type": "longrope",
        },
    },
    "phi4_mini": PHI3 | {
        "bos_token_id": 199999, "eos_token_id": 199999, "full_attn_mod": 1, "interpolate_factor": 1,
        "lm_head_bias": False, "mlp_bias": False, "num_attention_heads": 24, "num_key_value_heads": 8,
        "pad_token_id": 199999, "partial_rotary_factor": 0.75, "tie_word_embeddings": True, "vocab_size": 200064,
        "rope_scaling": {"long_factor": [*phi4_mini.LONG], "short_factor": [1.0] * 48, "type": "longrope"},
    },
    "qwen3_5_0_8b": QWEN3_5 | {"hidden_size": 1024, "intermediate_size": 3584},
    "qwen3_5_2b": QWEN3_5 | {"hidden_size": 2048, "intermediate_size": 6144},
    "smollm3_3b": {
        "architectures": ["SmolLM3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 128000, "eos_token_id": 128012, "hidden_act": "silu", "hidden_size": 2048,
        "initializer_range": 0.02, "intermediate_size": 11008, "layer_types": ["full_attention"] * 36,
        "max_position_embeddings": 65536, "max_window_layers": 28, "mlp_bias": False, "model_type": "smollm3",
        "no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0] * 9, "num_attention_heads": 16,
        "num_hidden_layers": 36, "num_key_value_heads": 4, "pad_token_id": 128004, "pretraining_tp": 2,
        "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 5000000.0, "sliding_window": None,
        "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": False, "use_sliding_window": False,
        "vocab_size": 128256,
    },
    "opus_mt_en_de": {
        "_num_labels": 3, "activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": False,
        "add_final_layer_norm": False, "architectures": ["MarianMTModel"], "attention_dropout": 0.0,
        "bad_words_ids": [[58100]], "bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0,
        "d_model": 512, "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "decoder_layerdrop": 0.0,
        "decoder_layers": 6, "decoder_start_token_id": 58100, "decoder_vocab_size": 58101, "dropout": 0.1,
        "encoder_attention_heads": 8, "encoder_ffn_dim": 2048, "encoder_layerdrop": 0.0, "encoder_layers": 6,
        "eos_token_id": 0, "forced_eos_token_id": 0, "init_std": 0.02, "is_encoder_decoder": True, "max_length": 512,
        "max_position_embeddings": 512, "model_type": "marian", "normalize_before": False,
        "normalize_embedding": False, "num_beams": 6, "num_hidden_layers": 6, "pad_token_id": 58100,
        "scale_embedding": True, "share_encoder_decoder_embeddings": True, "static_position_embeddings": True,
        "use_cache": True, "vocab_size": 58101,
    },
    "t5_small": {
        "architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64, "d_model": 512,
        "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0,
        "is_encoder_decoder": True, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512,
        "num_heads": 8, "num_layers": 6, "output_past": True, "pad_token_id": 0,
        "relative_attention_num_buckets": 32, "vocab_size": 32128,
    },
    "t5_v1_1_base": {
        "architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64, "d_model": 768,
        "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "feed_forward_proj": "gated-gelu",
        "initializer_factor": 1.0, "is_encoder_decoder": True, "layer_norm_epsilon": 1e-06, "model_type": "t5",
        "num_decoder_layers": 12, "num_heads": 12, "num_layers": 12, "output_past": True, "pad_token_id": 0,
        "relative_attention_num_buckets": 32, "tie_word_embeddings": False, "use_cache": True, "vocab_size": 32128,
    },
    "bart_large_cnn": {
        "activation_dropout": 0.0, "activation_function": "gelu", "add_final_layer_norm": False,
        "architectures": ["BartForConditionalGeneration"], "attention_dropout": 0.0, "bos_token_id": 0,
        "d_model": 1024, "decoder_attention_heads": 16, "decoder_ffn_dim": 4096, "decoder_layerdrop": 0.0,
        "decoder_layers": 12, "decoder_start_token_id": 2, "dropout": 0.1, "encoder_attention_heads": 16,
        "encoder_ffn_dim": 4096, "encoder_layerdrop": 0.0, "encoder_layers": 12, "eos_token_id": 2,
        "forced_bos_token_id": 0, "forced_eos_token_id": 2, "init_std": 0.02, "is_encoder_decoder": True,
        "length_penalty": 2.0, "max_length": 142, "max_position_embeddings": 1024, "min_length": 56,
        "model_type": "bart", "no_repeat_ngram_size": 3, "normalize_before": False, "num_beams": 4,
        "num_hidden_layers": 12, "pad_token_id": 1, "scale_embedding": False, "vocab_size": 50264,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_the_configuration_is_that_of_the_release(name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(RELEASED[name]))
    config, extra = read_config(tmp_path)
    assert config == zoo.describe(name).config
    named = RELEASED[name].get("architectures", [None])[0]
    named = "GteModel" if named == "NewModel" else named  # of code that came with the release
    assert extra["architecture"] == named
    assert named in (None, architecture_of(zoo.describe(name).task, config.family))


@pytest.mark.parity
@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_of_transformers(name):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    config = zoo.describe(name).config
    task = "sentence_embedding" if config.kind == "encoder" else zoo.describe(name).task
    architecture = architecture_of(task, config.family)
    kind = getattr(transformers, architecture)
    with torch.device("meta"):
        model = kind(kind.config_class(**make_config(config, architecture)))
    model.tie_weights()
    assert model.num_parameters() == PUBLISHED[name] + MORE.get(name, 0)


@pytest.mark.parametrize("name", zoo.names())
def test_an_entry_is_complete(name):
    entry = zoo.describe(name)
    assert entry.name == name
    assert entry.task in task_names()
    assert entry.licence and entry.summary.endswith(".")
    assert entry.paper.startswith("https://")
    assert entry.source in (None, "bundled") or parse(entry.source)[0].count("/") == 1
    assert zoo.names(name) == [name]


def test_an_entry_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        zoo.describe("mini_bert_en").parameters = 1


def test_bundled_and_other_names_are_all():
    bundled, others = zoo.names(bundled=True), zoo.names(bundled=False)
    assert bundled == sorted(path.parent.name for path in BUNDLED.glob("*/model.safetensors"))
    assert sorted(bundled + others) == zoo.names()


@pytest.mark.parametrize("start, some", [("bert_large", 2), ("gpt2", 4), ("t5", 3), ("xlnet", 0)])
def test_names_by_pattern(start, some):
    found = zoo.names(f"{start}*")
    assert found == sorted(name for name in zoo.names() if name.startswith(start))
    assert len(found) >= some and bool(found) == bool(some)


FILTERS = {
    "family": ("bert", lambda entry: entry.config.family == "bert"),
    "task": ("causal_lm", lambda entry: entry.task == "causal_lm"),
    "licence": ("mit", lambda entry: entry.licence == "MIT"),
    "max_parameters": ("22.7M", lambda entry: entry.parameters <= 22_700_000),
}


@pytest.mark.integration(quick=["licence"])
@pytest.mark.parametrize("name", FILTERS)
def test_names_by_a_fact(name):
    value, fits = FILTERS[name]
    found = zoo.names(**{name: value})
    assert found == [name for name in zoo.names() if fits(zoo.describe(name))]
    assert 0 < len(found) < len(zoo.names())
    assert zoo.names("*gpt*", bundled=True, **{name: value}) == [name for name in found if name == "gpt_mini_en"]


@pytest.mark.integration(quick=["", "0_1", "1,5B", "1..5M"])
@pytest.mark.parametrize(
    "number", [0, -5, True, 2.5, "", "M", "0", "1e6", "1..5M", "10 G", "٣M", "none", "1,5B", "9" * 400]
)
def test_numbers_of_parameters_that_are_none(number):
    with pytest.raises(ValueError, match=r"max_parameters must be a number .*, such as 200M or 1\.5B: received"):
        zoo.names(max_parameters=number)


def test_any_pair_of_languages():
    entry = zoo.describe("opus_mt_ROMANCE_en")
    assert (entry.name, entry.source) == ("opus_mt_ROMANCE_en", "hf:Helsinki-NLP/opus-mt-ROMANCE-en")
    assert (entry.config, entry.parameters, entry.task) == (None, None, "seq2seq_lm")
    assert "opus_mt_fr_en" not in zoo.names()
    with pytest.raises(ValueError, match=r"no model 'opus_mt_fr'.*opus_mt_en_de"):
        zoo.describe("opus_mt_fr")


def test_sizes_without_weights():
    assert zoo.describe("transformer_big").source is None
    with pytest.raises(ValueError, match="no weights for 'transformer_big', only sizes: train a model of"):
        zoo.load("transformer_big")


NEAREST = {"bert_base_uncased": "bert_base_en_uncased", "minibert": "mini_bert_en"}


@pytest.mark.parametrize(("wrong", "nearest"), NEAREST.items())
def test_a_wrong_name_brings_the_nearest(wrong, nearest):
    with pytest.raises(ValueError, match=f"no model '{wrong}'.*{nearest}"):
        zoo.describe(wrong)


def test_private_files_are_no_models():
    with pytest.raises(ValueError, match="no model '__main__'"):
        zoo.describe("__main__")


def test_load_is_a_function_of_the_package():
    assert "load" in zoo.__all__ and zoo.load.__doc__.startswith("Load a model by name")
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = zoo.lode


def test_what_is_shown_of_the_package_and_of_a_model():
    assert {name for name in dir(zoo) if not name.startswith("__")} == {
        "describe",
        "load",
        "names",
        "new",
        "train_further",
    }
    shown = repr(zoo.describe("gpt2"))
    assert "name='gpt2'" in shown and "source='hf:openai-community/gpt2'" in shown and "pickled" not in shown


def test_fine_tuning_options_are_those_of_fit():
    known = set(Task.fit.__kwdefaults__)
    assert {field.name for field in dataclasses.fields(Entry)} >= {"fit", "results"}
    assert all(set(zoo.describe(name).fit) <= known for name in zoo.names())
