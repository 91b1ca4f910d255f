"""Gemma 3 270M, many languages: 18 layers of 640, with a vocabulary of 262,144 tokens."""

from keras_transformers.families import gemma3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Gemma 3 270M, many languages: 18 layers of 640, with a vocabulary of 262,144 tokens.",
    config=gemma3(
        262_144,
        num_layers=18,
        num_heads=4,
        num_kv_heads=1,
        head_dim=256,
        hidden_dim=640,
        intermediate_dim=2048,
        pad_id=0,
        bos_id=2,
        eos_ids=(1,),
    ),
    task="causal_lm",
    parameters=268_098_176,
    licence="Gemma",
    terms="https://ai.google.dev/gemma/terms",
    source="hf:google/gemma-3-270m",
    paper="https://arxiv.org/abs/2503.19786",
)
