"""RoBERTa base, English: 12 layers of 768."""

from keras_transformers.families import roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="RoBERTa base, English: 12 layers of 768.",
    config=roberta(50_265, num_layers=12, num_heads=12, hidden_dim=768),
    task="masked_lm",
    parameters=124_645_632,
    licence="MIT",
    source="hf:FacebookAI/roberta-base",
    paper="https://arxiv.org/abs/1907.11692",
)
