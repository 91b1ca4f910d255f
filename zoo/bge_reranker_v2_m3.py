"""bge-reranker-v2-m3, 100 languages: ranks passages for a query, 24 layers of 1024."""

from keras_transformers.families import xlm_roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="bge-reranker-v2-m3, 100 languages: ranks passages for a query, 24 layers of 1024.",
    config=xlm_roberta(250_002, num_layers=24, num_heads=16, hidden_dim=1024, max_length=8192),
    task="ranking",
    parameters=567_754_752,
    licence="Apache-2.0",
    source="hf:BAAI/bge-reranker-v2-m3",
    paper="https://arxiv.org/abs/2402.03216",
)
