"""bge-m3, 100 languages, 8,192 tokens: sentence embeddings of 1,024 numbers, 24 layers."""

from keras_transformers.families import xlm_roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="bge-m3, 100 languages, 8,192 tokens: sentence embeddings of 1,024 numbers, 24 layers.",
    config=xlm_roberta(250_002, num_layers=24, num_heads=16, hidden_dim=1024, max_length=8192),
    task="sentence_embedding",
    parameters=567_754_752,
    licence="MIT",
    source="hf:BAAI/bge-m3",
    paper="https://arxiv.org/abs/2402.03216",
)
