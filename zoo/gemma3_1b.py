"""Gemma 3 1B, many languages: 26 layers of 1152, with a vocabulary of 262,144 tokens."""

from keras_transformers.families import gemma3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Gemma 3 1B, many languages: 26 layers of 1152, with a vocabulary of 262,144 tokens.",
    config=gemma3(
        262_144,
        num_layers=26,
        num_heads=4,
        num_kv_heads=1,
        head_dim=256,
        hidden_dim=1152,
        intermediate_dim=6912,
        pad_id=0,
        bos_id=2,
        eos_ids=(1,),
    ),
    task="causal_lm",
    parameters=999_885_952,
    licence="Gemma",
    terms="https://ai.google.dev/gemma/terms",
    source="hf:google/gemma-3-1b-pt",
    paper="https://arxiv.org/abs/2503.19786",
)
