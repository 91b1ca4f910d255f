"""Qwen 3 1.7B, 119 languages, chat with thinking: 28 layers of 2048."""

from keras_transformers.families import qwen3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 3 1.7B, 119 languages, chat with thinking: 28 layers of 2048.",
    config=qwen3(
        151_936,
        num_layers=28,
        num_heads=16,
        num_kv_heads=8,
        hidden_dim=2048,
        intermediate_dim=6144,
        head_dim=128,
        max_wavelength=1_000_000.0,
        tie_embeddings=True,
        bos_id=151_643,
        eos_ids=(151_645,),
    ),
    task="causal_lm",
    parameters=1_720_574_976,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen3-1.7B",
    paper="https://arxiv.org/abs/2505.09388",
)
