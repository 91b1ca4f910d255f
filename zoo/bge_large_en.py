"""bge-large-en-v1.5, English, lower-case: sentence embeddings of 1,024 numbers, 24 layers."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="bge-large-en-v1.5, English, lower-case: sentence embeddings of 1,024 numbers, 24 layers.",
    config=bert(30_522, num_layers=24, num_heads=16, hidden_dim=1024),
    task="sentence_embedding",
    prompts={"query": "Represent this sentence for searching relevant passages: "},
    parameters=335_141_888,
    licence="MIT",
    source="hf:BAAI/bge-large-en-v1.5",
    paper="https://arxiv.org/abs/2309.07597",
)
