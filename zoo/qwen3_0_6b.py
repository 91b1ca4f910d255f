"""Qwen 3 0.6B, 119 languages, chat with thinking: 28 layers of 1024."""

from keras_transformers.families import qwen3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 3 0.6B, 119 languages, chat with thinking: 28 layers of 1024.",
    config=qwen3(
        151_936,
        num_layers=28,
        num_heads=16,
        num_kv_heads=8,
        hidden_dim=1024,
        intermediate_dim=3072,
        head_dim=128,
        max_wavelength=1_000_000.0,
        tie_embeddings=True,
        bos_id=151_643,
        eos_ids=(151_645,),
    ),
    task="causal_lm",
    parameters=596_049_920,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen3-0.6B",
    paper="https://arxiv.org/abs/2505.09388",
)
