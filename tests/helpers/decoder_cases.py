"""Rows of decoders in the table of families for tests: see `family_cases`."""

from __future__ import annotations

from family_case import Case, sized

from keras_transformers import families
from keras_transformers.families.encoders.modernbert import windowed

# Of Phi-3.5, for heads of 8 units.
LONG = {"kind": "longrope", "factor": 3.0, "short_factors": [1.0, 1.1, 1.2, 1.5], "long_factors": [1.0, 2.0, 4.0, 9.0]}
# Of OLMo 3, for shorter texts.
YARN = {
    "kind": "yarn",
    "factor": 8.0,
    "original_length": 16,
    "attention_factor": 1.2,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
}
DECODER_CASES = {
    "gpt1": Case(
        families.gpt1,
        variants={"silu": {"activation": "silu", "pad_id": 3}},
        published={116_534_784: sized(40478, 12, 12, 768)},
    ),
    "gpt2": Case(
        families.gpt2,
        variants={
            "gelu-inner": {"activation": "gelu", "intermediate_dim": 40, "bos_id": 1, "eos_ids": [1]},
            "untied": {"tie_embeddings": False},
        },
        published={124_439_808: sized(50257, 12, 12, 768)},
    ),
    "llama": Case(
        families.llama,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "tied-head_dim": {"tie_embeddings": True, "head_dim": 12, "max_wavelength": 500.0},
            "bias": {"use_bias": True, "num_kv_heads": 4, "eos_ids": [2, 4], "pad_id": 3},
            "bias of attention": {"attention_bias": True},
            "bias of feed-forward": {"feed_forward_bias": True},
        },
        published={6_738_415_616: sized(32000, 32, 32, 4096, 11008)},
    ),
    "mistral": Case(
        families.mistral,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "window": {"block_options": [{"attention_window": 3}], "num_kv_heads": 4},
            "tied-head_dim": {"tie_embeddings": True, "head_dim": 12, "max_wavelength": 500.0},
        },
        published={7_241_732_096: sized(32000, 32, 32, 4096, 14336, num_kv_heads=8)},
    ),
    "qwen2": Case(
        families.qwen2,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "windows": {"block_options": [{}, {"attention_window": 3}], "num_kv_heads": 4},
            "tied": {"tie_embeddings": True, "max_wavelength": 500.0, "eos_ids": [2, 4], "pad_id": 3},
        },
        published={494_032_768: sized(151_936, 24, 14, 896, 4864, num_kv_heads=2, tie_embeddings=True)},
    ),
    "qwen3": Case(
        families.qwen3,
        own={"intermediate_dim": 24, "num_kv_heads": 2, "head_dim": 12},
        variants={
            "windows": {"block_options": [{"attention_window": 3}], "num_kv_heads": 4},
            "biases": {"attention_bias": True, "tie_embeddings": True, "head_dim": 8},
        },
        published={
            596_049_920: sized(151_936, 28, 16, 1024, 3072, num_kv_heads=8, head_dim=128, tie_embeddings=True),
        },
    ),
    "opt": Case(
        families.opt,
        variants={
            "post-norm": {"norm_order": "post", "embedding_dim": 20, "intermediate_dim": 40},
            "projected": {"embedding_dim": 12, "activation": "gelu", "eos_ids": [2, 4]},
            "untied": {"tie_embeddings": False, "use_bias": False, "norm_bias": True},
        },
        # transformers counts two more rows of positions, which no token takes.
        published={
            125_239_296 - 2 * 768: sized(50272, 12, 12, 768),
            331_196_416 - 2 * 1024: sized(50272, 24, 16, 1024, norm_order="post", embedding_dim=512),
            1_315_758_080 - 2 * 2048: sized(50272, 24, 32, 2048),
        },
        unusual={"epsilon": 1e-5},
    ),
    "gemma": Case(
        families.gemma,
        own={"intermediate_dim": 24, "num_kv_heads": 2, "head_dim": 12},
        variants={
            "untied": {"tie_embeddings": False, "head_dim": 8, "eos_ids": [2, 4]},
            "biases": {"attention_bias": True, "num_kv_heads": 1, "activation": "relu", "max_wavelength": 500.0},
        },
        published={2_506_172_416: sized(256_000, 18, 8, 2048, 16_384, num_kv_heads=1, head_dim=256)},
    ),
    "gemma2": Case(
        families.gemma2,
        own={"intermediate_dim": 24, "num_kv_heads": 2, "head_dim": 12, "block_options": [{"attention_window": 3}, {}]},
        variants={
            "caps": {"attention_soft_cap": 2.0, "logits_soft_cap": 3.0, "attention_scale": 5**-0.5},
            "windows": {"block_options": [{}, {"attention_window": 4}], "num_kv_heads": 4, "attention_bias": True},
            "no-window": {"block_options": [], "tie_embeddings": False, "attention_soft_cap": 1.0},
        },
        published={2_614_341_888: sized(256_000, 26, 8, 2304, 9216, num_kv_heads=4, head_dim=256)},
    ),
    "gemma3_text": Case(
        families.gemma3,
        own={"intermediate_dim": 24, "num_kv_heads": 2, "head_dim": 12, "window": 3},
        variants={
            "cap": {"logits_soft_cap": 3.0, "attention_scale": 5**-0.5},
            "bases": {
                "block_options": [{}, {"attention_window": 4, "max_wavelength": 50.0}],
                "num_kv_heads": 4,
                "attention_bias": True,
                "max_wavelength": 500.0,
            },
            "no-window": {"block_options": [], "tie_embeddings": False, "head_dim": 8},
            "seven-blocks": {"num_layers": 7, "scaling": {"kind": "linear", "factor": 2.5}},
            "scaled-windows": {
                "block_options": [
                    {"attention_window": 4, "max_wavelength": 50.0, "rotary_scaling": {"kind": "linear", "factor": 3.0}}
                ],
            },
        },
        published={
            268_098_176: sized(262_144, 18, 4, 640, 2048, num_kv_heads=1, head_dim=256),
            999_885_952: sized(262_144, 26, 4, 1152, 6912, num_kv_heads=1, head_dim=256),
        },
    ),
    "olmo2": Case(
        families.olmo2,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "bias": {"attention_bias": True, "num_kv_heads": 4, "max_wavelength": 500.0},
            "tied": {"tie_embeddings": True, "eos_ids": [2, 4]},
        },
        published={
            1_484_916_736: sized(100_352, 16, 16, 2048, 8192),
            7_298_617_344: sized(100_352, 32, 32, 4096, 11_008),
        },
    ),
    "olmo3": Case(
        families.olmo3,
        own={"intermediate_dim": 24, "num_kv_heads": 2, "window": 3},
        variants={
            "yarn": {"num_layers": 5, "scaling": YARN, "num_kv_heads": 4, "attention_bias": True},
            "bases": {
                "block_options": [{}, {"attention_window": 4, "max_wavelength": 50.0, "rotary_scaling": YARN}],
                "max_wavelength": 500.0,
            },
            "no-window": {"block_options": [], "tie_embeddings": True, "eos_ids": [2, 4]},
        },
        unusual={"num_layers": 4},
    ),
    "granite": Case(
        families.granite,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "biases": {"attention_bias": True, "feed_forward_bias": True, "num_kv_heads": 4, "attention_scale": 1.0},
            "tied": {"tie_embeddings": True, "eos_ids": [2, 4], "max_wavelength": 500.0},
        },
        published={
            2_533_531_648: sized(49_155, 40, 32, 2048, 8192, num_kv_heads=8, tie_embeddings=True),
        },
        unusual={"embedding_scale": 3.0, "residual_scale": 0.22, "logits_divisor": 1.5, "attention_scale": 0.3},
    ),
    "gpt_neox": Case(
        families.gpt_neox,
        own={"partial_rotary_factor": 0.5},
        variants={
            "in-turn": {"parallel": False, "activation": "gelu_tanh", "eos_ids": [2, 4], "bos_id": 1},
            "whole-heads": {"partial_rotary_factor": 1.0, "attention_bias": False, "max_wavelength": 500.0},
            "tied": {"tie_embeddings": True, "intermediate_dim": 40, "partial_rotary_factor": 0.25},
        },
        published={
            70_426_624: sized(50_304, 6, 8, 512),
            162_322_944: sized(50_304, 12, 12, 768),
            405_334_016: sized(50_304, 24, 16, 1024),
            1_011_781_632: sized(50_304, 16, 8, 2048),
            1_414_647_808: sized(50_304, 24, 16, 2048),
        },
    ),
    "smollm3": Case(
        families.smollm3,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "windows": {"block_options": [{}, {"rotary": False, "attention_window": 3}], "num_kv_heads": 4},
            "biases": {"attention_bias": True, "feed_forward_bias": True, "tie_embeddings": False, "num_layers": 5},
            "all-turned": {"block_options": [], "max_wavelength": 500.0, "head_dim": 12, "eos_ids": [2, 4]},
        },
        published={3_075_098_624: sized(128_256, 36, 16, 2048, 11_008, num_kv_heads=4)},
        unusual={"block_options": [{}, {"rotary": False}], "bos_id": 1, "eos_ids": [2]},
    ),
    "ministral": Case(
        families.ministral,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "windows": {"block_options": [{}, {"attention_window": 3}, {"attention_window": 3}], "num_kv_heads": 4},
            "one-window": {"block_options": [{"attention_window": 4}], "tie_embeddings": True, "head_dim": 12},
        },
        published={8_019_808_256: sized(131_072, 36, 32, 4096, 12_288, num_kv_heads=8, head_dim=128)},
    ),
    "phi3": Case(
        families.phi3,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "window": {"block_options": [{"attention_window": 3}], "num_kv_heads": 4, "dropout": 0.1},
            "longrope": {"rotary_scaling": LONG | {"original_length": 40}},
            "longrope-of-long-texts": {"rotary_scaling": LONG | {"original_length": 2}},
            "partial": {"partial_rotary_factor": 0.75, "tie_embeddings": True, "eos_ids": [2, 4]},
        },
        published={
            3_821_079_552: sized(32_064, 32, 32, 3072, 8192),
            3_836_021_760: sized(200_064, 32, 24, 3072, 8192, num_kv_heads=8, tie_embeddings=True),
        },
        unusual={"bos_id": 1, "eos_ids": [2]},
    ),
    "granitemoehybrid": Case(
        families.granitemoehybrid,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "no-positions": {"block_options": [{"rotary": False}], "attention_bias": True, "num_kv_heads": 4},
            "untied": {"tie_embeddings": False, "eos_ids": [2, 4], "max_wavelength": 500.0},
        },
        unusual={
            "bos_id": 1,
            "eos_ids": [2],
            "embedding_scale": 3.0,
            "residual_scale": 0.22,
            "logits_divisor": 1.5,
            "attention_scale": 0.3,
        },
    ),
    "modernbert-decoder": Case(
        families.modernbert_decoder,
        own={"intermediate_dim": 24},
        variants={
            "untied": {"tie_embeddings": False, "output_bias": False, "pooler_activation": "relu"},
            "bias": {"use_bias": True, "head_bias": True, "activation": "silu", "eos_ids": [2]},
        },
        unusual={
            "bos_id": 1,
            "eos_ids": [2],
            "num_layers": 7,
            "block_options": windowed([True, False, False] * 2 + [True], 3),
        },
    ),
    "lfm2": Case(
        families.lfm2,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "wider-filter": {
                "block_options": [{"mixer": "short_convolution"}, {}],
                "kernel_size": 4,
                "num_kv_heads": 4,
                "head_dim": 12,
            },
            "attention-alone": {"block_options": [], "max_wavelength": 500.0, "tie_embeddings": False},
            "first-attention": {"block_options": [{}, {"mixer": "short_convolution"}], "eos_ids": [2, 4], "pad_id": 5},
        },
        published={
            354_483_968: sized(65_536, 16, 16, 1024, 4608, num_kv_heads=8),
            742_489_344: sized(65_536, 16, 24, 1536, 6912, num_kv_heads=8),
            1_170_340_608: sized(65_536, 16, 32, 2048, 8192, num_kv_heads=8),
        },
        unusual={"num_layers": 4, "bos_id": 1, "eos_ids": [2]},
    ),
    "qwen3_5_text": Case(
        families.qwen3_5,
        own={
            "intermediate_dim": 24,
            "num_kv_heads": 2,
            "head_dim": 8,
            "partial_rotary_factor": 0.5,
            "memory_heads": 4,
            "memory_key_heads": 2,
            "memory_key_dim": 6,
            "memory_value_dim": 5,
        },
        variants={
            "equal-heads": {
                "memory_key_heads": 4,
                "memory_key_dim": 8,
                "kernel_size": 3,
                "max_wavelength": 500.0,
                "attention_bias": True,
            },
            "attention-alone": {"block_options": [], "tie_embeddings": False, "partial_rotary_factor": 0.25},
            "first-attention": {"block_options": [{}, {"mixer": "gated_delta"}], "eos_ids": [2, 4], "pad_id": 5},
        },
        published={752_393_024: sized(248_320, 24, 8, 1024, 3584, num_kv_heads=2)},
    ),
}
