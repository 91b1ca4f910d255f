"""Rows of decoders in the table of families for tests: see `family_cases`."""

from __future__ import annotations

from family_case import Case, sized

from keras_transformers import families

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
}
