"""Qwen 3.5 0.8B, text, many languages, chat with thinking: 24 layers of 1024, one of four with attention."""

from keras_transformers.families import qwen3_5
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 3.5 0.8B, text, many languages, chat with thinking: 24 layers of 1024, one of four with attention.",
    config=qwen3_5(
        248_320,
        num_layers=24,
        num_heads=8,
        num_kv_heads=2,
        hidden_dim=1024,
        intermediate_dim=3584,
        eos_ids=(248_044,),
    ),
    task="causal_lm",
    parameters=752_393_024,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen3.5-0.8B",
    paper="https://arxiv.org/abs/2412.06464",
)
