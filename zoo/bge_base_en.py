"""bge-base-en-v1.5, English, lower-case: sentence embeddings of 768 numbers, 12 layers."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="bge-base-en-v1.5, English, lower-case: sentence embeddings of 768 numbers, 12 layers.",
    config=bert(30_522, num_layers=12, num_heads=12, hidden_dim=768),
    task="sentence_embedding",
    prompts={"query": "Represent this sentence for searching relevant passages: "},
    parameters=109_482_240,
    licence="MIT",
    source="hf:BAAI/bge-base-en-v1.5",
    paper="https://arxiv.org/abs/2309.07597",
)
