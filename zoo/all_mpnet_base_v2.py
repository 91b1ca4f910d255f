"""all-mpnet-base-v2, English, lower-case: sentence embeddings of 768 numbers, 12 layers."""

from keras_transformers.families import mpnet
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="all-mpnet-base-v2, English, lower-case: sentence embeddings of 768 numbers, 12 layers.",
    config=mpnet(30_527, num_layers=12, num_heads=12, hidden_dim=768),
    task="sentence_embedding",
    parameters=109_486_464,
    licence="Apache-2.0",
    source="hf:sentence-transformers/all-mpnet-base-v2",
    paper="https://arxiv.org/abs/2004.09297",
)
