"""RoBERTa large, English: 24 layers of 1024."""

from keras_transformers.families import roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="RoBERTa large, English: 24 layers of 1024.",
    config=roberta(50_265, num_layers=24, num_heads=16, hidden_dim=1024),
    task="masked_lm",
    parameters=355_359_744,
    licence="MIT",
    source="hf:FacebookAI/roberta-large",
    paper="https://arxiv.org/abs/1907.11692",
)
