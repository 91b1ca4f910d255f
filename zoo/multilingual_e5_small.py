"""multilingual-e5-small, 100 languages: sentence embeddings of 384 numbers, 12 layers."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="multilingual-e5-small, 100 languages: sentence embeddings of 384 numbers, 12 layers.",
    config=bert(250_037, num_layers=12, num_heads=12, hidden_dim=384),
    task="sentence_embedding",
    prompts={"query": "query: ", "passage": "passage: "},
    parameters=117_653_760,
    licence="MIT",
    source="hf:intfloat/multilingual-e5-small",
    paper="https://arxiv.org/abs/2402.05672",
)
