"""Phi-3 mini, English and code, texts of up to 4096 tokens: 32 layers of 3072."""

from keras_transformers.families import phi3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Phi-3 mini, English and code, texts of up to 4096 tokens: 32 layers of 3072.",
    config=phi3(
        32_064,
        num_layers=32,
        num_heads=32,
        hidden_dim=3072,
        intermediate_dim=8192,
        block_options=[{"attention_window": 2047}],
        pad_id=32_000,
        bos_id=1,
        eos_ids=(32_000,),
    ),
    task="causal_lm",
    parameters=3_821_079_552,
    licence="MIT",
    source="hf:microsoft/Phi-3-mini-4k-instruct",
    paper="https://arxiv.org/abs/2404.14219",
)
