"""Qwen 3.5 2B, text, many languages, chat with thinking: 24 layers of 2048, one of four with attention."""

from keras_transformers.families import qwen3_5
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 3.5 2B, text, many languages, chat with thinking: 24 layers of 2048, one of four with attention.",
    config=qwen3_5(
        248_320,
        num_layers=24,
        num_heads=8,
        num_kv_heads=2,
        hidden_dim=2048,
        intermediate_dim=6144,
        eos_ids=(248_044,),
    ),
    task="causal_lm",
    parameters=1_881_825_088,
    licence="Apache-2.0",
    source="hf:Qwen/Qwen3.5-2B",
    paper="https://arxiv.org/abs/2412.06464",
)
