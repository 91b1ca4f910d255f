"""Qwen 2.5 1.5B, 29 languages: 28 layers of 1536."""

from keras_transformers.families import qwen2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 2.5 1.5B, 29 languages: 28 layers of 1536.",
    config=qwen2(
        151_936,
        num_layers=28,
        num_heads=12,
        num_kv_heads=2,
        hidden_dim=1536,
        intermediate_dim=8960,
        max_length=131_072,
        max_wavelength=1_000_000.0,
        tie_embeddings=True,
        bos_id=151_643,
        eos_ids=(151_643,),
    ),
    task="causal_lm",
    parameters=1_543_714_304,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen2.5-1.5B",
    paper="https://arxiv.org/abs/2412.15115",
)
