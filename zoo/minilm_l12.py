"""all-MiniLM-L12-v2, English, lower-case: sentence embeddings of 384 numbers, 12 layers."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="all-MiniLM-L12-v2, English, lower-case: sentence embeddings of 384 numbers, 12 layers.",
    config=bert(30_522, num_layers=12, num_heads=12, hidden_dim=384),
    task="sentence_embedding",
    parameters=33_360_000,
    licence="Apache-2.0",
    source="hf:sentence-transformers/all-MiniLM-L12-v2",
    paper="https://arxiv.org/abs/2002.10957",
)
