"""bge-reranker-base, Chinese and English: ranks passages for a query, 12 layers of 768."""

from keras_transformers.families import xlm_roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="bge-reranker-base, Chinese and English: ranks passages for a query, 12 layers of 768.",
    config=xlm_roberta(250_002, num_layers=12, num_heads=12, hidden_dim=768),
    task="ranking",
    parameters=278_043_648,
    licence="MIT",
    source="hf:BAAI/bge-reranker-base",
    paper="https://arxiv.org/abs/2309.07597",
)
