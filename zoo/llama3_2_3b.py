"""Llama 3.2 3B, eight languages: 28 layers of 3072."""

from keras_transformers.families import llama
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Llama 3.2 3B, eight languages: 28 layers of 3072.",
    config=llama(
        128_256,
        num_layers=28,
        num_heads=24,
        num_kv_heads=8,
        hidden_dim=3072,
        intermediate_dim=8192,
        max_length=131_072,
        max_wavelength=500_000.0,
        rotary_scaling={"kind": "llama3", "factor": 32.0, "original_length": 8192},
        epsilon=1e-5,
        tie_embeddings=True,
        bos_id=128_000,
        eos_ids=(128_001,),
    ),
    task="causal_lm",
    parameters=3_212_749_824,
    licence="Llama 3.2",
    terms="https://www.llama.com/llama3_2/license/",
    source="hf:meta-llama/Llama-3.2-3B",
    paper="https://arxiv.org/abs/2407.21783",
)
