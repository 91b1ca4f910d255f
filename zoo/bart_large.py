"""BART large, English: 12 + 12 layers of 1024."""

from keras_transformers.families import bart
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BART large, English: 12 + 12 layers of 1024.",
    config=bart(50_265, num_layers=12, num_heads=16, hidden_dim=1024),
    task="seq2seq_lm",
    parameters=406_287_360,
    licence="Apache-2.0",
    source="hf:facebook/bart-large",
    paper="https://arxiv.org/abs/1910.13461",
)
