"""bge-small-en-v1.5, English, lower-case: sentence embeddings of 384 numbers, 12 layers."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="bge-small-en-v1.5, English, lower-case: sentence embeddings of 384 numbers, 12 layers.",
    config=bert(30_522, num_layers=12, num_heads=12, hidden_dim=384),
    task="sentence_embedding",
    prompts={"query": "Represent this sentence for searching relevant passages: "},
    parameters=33_360_000,
    licence="MIT",
    source="hf:BAAI/bge-small-en-v1.5",
    paper="https://arxiv.org/abs/2309.07597",
)
