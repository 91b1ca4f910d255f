"""multilingual-e5-large, 100 languages: sentence embeddings of 1,024 numbers, 24 layers."""

from keras_transformers.families import xlm_roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="multilingual-e5-large, 100 languages: sentence embeddings of 1,024 numbers, 24 layers.",
    config=xlm_roberta(250_002, num_layers=24, num_heads=16, hidden_dim=1024),
    task="sentence_embedding",
    prompts={"query": "query: ", "passage": "passage: "},
    parameters=559_890_432,
    licence="MIT",
    source="hf:intfloat/multilingual-e5-large",
    paper="https://arxiv.org/abs/2402.05672",
)
