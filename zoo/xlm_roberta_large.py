"""XLM-RoBERTa large, 100 languages: 24 layers of 1024."""

from keras_transformers.families import xlm_roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="XLM-RoBERTa large, 100 languages: 24 layers of 1024.",
    config=xlm_roberta(250_002, num_layers=24, num_heads=16, hidden_dim=1024),
    task="masked_lm",
    parameters=559_890_432,
    licence="MIT",
    source="hf:FacebookAI/xlm-roberta-large",
    paper="https://arxiv.org/abs/1911.02116",
)
