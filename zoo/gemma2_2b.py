"""Gemma 2 2B, English: 26 layers of 2304, with a vocabulary of 256,000 tokens."""

from keras_transformers.families import gemma2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Gemma 2 2B, English: 26 layers of 2304, with a vocabulary of 256,000 tokens.",
    config=gemma2(
        256_000,
        num_layers=26,
        num_heads=8,
        num_kv_heads=4,
        head_dim=256,
        hidden_dim=2304,
        intermediate_dim=9216,
        attention_soft_cap=50.0,
        logits_soft_cap=30.0,
        pad_id=0,
        bos_id=2,
        eos_ids=(1,),
    ),
    task="causal_lm",
    parameters=2_614_341_888,
    licence="Gemma",
    terms="https://ai.google.dev/gemma/terms",
    source="hf:google/gemma-2-2b",
    paper="https://arxiv.org/abs/2408.00118",
)
