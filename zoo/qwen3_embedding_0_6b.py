"""Qwen 3 Embedding 0.6B, 100 languages: sentence embeddings of 1024 numbers, of up to 32,768 tokens."""

from keras_transformers.families import qwen3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 3 Embedding 0.6B, 100 languages: sentence embeddings of 1024 numbers, of up to 32,768 tokens.",
    config=qwen3(
        151_669,
        num_layers=28,
        num_heads=16,
        num_kv_heads=8,
        hidden_dim=1024,
        intermediate_dim=3072,
        head_dim=128,
        max_length=32_768,
        max_wavelength=1_000_000.0,
        tie_embeddings=True,
        bos_id=151_643,
        eos_ids=(151_643,),
    ),
    task="sentence_embedding",
    parameters=595_776_512,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen3-Embedding-0.6B",
    paper="https://arxiv.org/abs/2506.05176",
)
