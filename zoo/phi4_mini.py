"""Phi-4 mini, 23 languages and code, texts of up to 131,072 tokens: 32 layers of 3072."""

from keras_transformers.families import phi3
from zoo.registry.entry import entry

# Divisors of the frequencies of rotary positions of long texts, as in the release's config.json.
LONG = (
    1.0, 1.118320672, 1.250641126, 1.398617824, 1.564103225, 1.74916897, 1.956131817, 2.187582649,
    2.446418898, 2.735880826, 3.059592084, 3.421605075, 3.826451687, 4.279200023, 4.785517845, 5.351743533,
    5.984965424, 6.693110555, 7.485043894, 8.370679318, 9.36110372, 10.4687158, 11.70738129, 13.09260651,
    14.64173252, 16.37415215, 18.31155283, 20.47818807, 22.90118105, 25.61086418, 28.64115884, 32.03, 32.1,
    32.13, 32.23, 32.6, 32.61, 32.64, 32.66, 32.7, 32.71, 32.93, 32.97, 33.28, 33.49, 33.5, 44.16, 47.77,
)  # fmt: skip
ENTRY = entry(
    __name__,
    summary="Phi-4 mini, 23 languages and code, texts of up to 131,072 tokens: 32 layers of 3072.",
    config=phi3(
        200_064,
        num_layers=32,
        num_heads=24,
        num_kv_heads=8,
        hidden_dim=3072,
        intermediate_dim=8192,
        max_length=131_072,
        partial_rotary_factor=0.75,
        rotary_scaling={
            "kind": "longrope",
            "factor": 32.0,
            "original_length": 4096,
            "short_factors": (1.0,) * 48,
            "long_factors": LONG,
        },
        block_options=[{"attention_window": 262_144}],
        tie_embeddings=True,
        pad_id=199_999,
        bos_id=199_999,
        eos_ids=(199_999,),
    ),
    task="causal_lm",
    parameters=3_836_021_760,
    licence="MIT",
    source="hf:microsoft/Phi-4-mini-instruct",
    paper="https://arxiv.org/abs/2503.01743",
)
