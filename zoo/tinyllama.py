"""TinyLlama 1.1B, English, chat: 22 layers of 2048."""

from keras_transformers.families import llama
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="TinyLlama 1.1B, English, chat: 22 layers of 2048.",
    config=llama(
        32_000,
        num_layers=22,
        num_heads=32,
        num_kv_heads=4,
        hidden_dim=2048,
        intermediate_dim=5632,
        epsilon=1e-5,
        bos_id=1,
        eos_ids=(2,),
    ),
    task="causal_lm",
    parameters=1_100_048_384,
    licence="Apache-2.0",
    source="hf:TinyLlama/TinyLlama-1.1B-Chat-v1.0",
    paper="https://arxiv.org/abs/2401.02385",
)
