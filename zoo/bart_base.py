"""BART base, English: 6 + 6 layers of 768."""

from keras_transformers.families import bart
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BART base, English: 6 + 6 layers of 768.",
    config=bart(50_265, num_layers=6, num_heads=12, hidden_dim=768),
    task="seq2seq_lm",
    parameters=139_417_344,
    licence="Apache-2.0",
    source="hf:facebook/bart-base",
    paper="https://arxiv.org/abs/1910.13461",
)
