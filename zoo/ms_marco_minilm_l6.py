"""ms-marco-MiniLM-L6-v2, English, lower-case: ranks passages for a query, 6 layers of 384."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="ms-marco-MiniLM-L6-v2, English, lower-case: ranks passages for a query, 6 layers of 384.",
    config=bert(30_522, num_layers=6, num_heads=12, hidden_dim=384),
    task="ranking",
    parameters=22_713_216,
    licence="Apache-2.0",
    source="hf:cross-encoder/ms-marco-MiniLM-L6-v2",
    paper="https://arxiv.org/abs/2002.10957",
)
