"""Llama 3.2 1B, chat, eight languages: 16 layers of 2048."""

from keras_transformers.families import llama
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Llama 3.2 1B, chat, eight languages: 16 layers of 2048.",
    config=llama(
        128_256,
        num_layers=16,
        num_heads=32,
        num_kv_heads=8,
        hidden_dim=2048,
        intermediate_dim=8192,
        max_length=131_072,
        max_wavelength=500_000.0,
        rotary_scaling={"kind": "llama3", "factor": 32.0, "original_length": 8192},
        epsilon=1e-5,
        tie_embeddings=True,
        bos_id=128_000,
        eos_ids=(128_001, 128_008, 128_009),
    ),
    task="causal_lm",
    parameters=1_235_814_400,
    licence="Llama 3.2",
    terms="https://www.llama.com/llama3_2/license/",
    source="hf:meta-llama/Llama-3.2-1B-Instruct",
    paper="https://arxiv.org/abs/2407.21783",
)
