"""Qwen 2.5 0.5B, 29 languages: 24 layers of 896."""

from keras_transformers.families import qwen2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 2.5 0.5B, 29 languages: 24 layers of 896.",
    config=qwen2(
        151_936,
        num_layers=24,
        num_heads=14,
        num_kv_heads=2,
        hidden_dim=896,
        intermediate_dim=4864,
        max_wavelength=1_000_000.0,
        tie_embeddings=True,
        bos_id=151_643,
        eos_ids=(151_643,),
    ),
    task="causal_lm",
    parameters=494_032_768,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen2.5-0.5B",
    paper="https://arxiv.org/abs/2412.15115",
)
