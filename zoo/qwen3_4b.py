"""Qwen 3 4B, 119 languages, chat with thinking: 36 layers of 2560."""

from keras_transformers.families import qwen3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 3 4B, 119 languages, chat with thinking: 36 layers of 2560.",
    config=qwen3(
        151_936,
        num_layers=36,
        num_heads=32,
        num_kv_heads=8,
        hidden_dim=2560,
        intermediate_dim=9728,
        head_dim=128,
        max_wavelength=1_000_000.0,
        tie_embeddings=True,
        bos_id=151_643,
        eos_ids=(151_645,),
    ),
    task="causal_lm",
    parameters=4_022_468_096,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen3-4B",
    paper="https://arxiv.org/abs/2505.09388",
)
