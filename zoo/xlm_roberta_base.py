"""XLM-RoBERTa base, 100 languages: 12 layers of 768."""

from keras_transformers.families import xlm_roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="XLM-RoBERTa base, 100 languages: 12 layers of 768.",
    config=xlm_roberta(250_002, num_layers=12, num_heads=12, hidden_dim=768),
    task="masked_lm",
    parameters=278_043_648,
    licence="MIT",
    source="hf:FacebookAI/xlm-roberta-base",
    paper="https://arxiv.org/abs/1911.02116",
)
