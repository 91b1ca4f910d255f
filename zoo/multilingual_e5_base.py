"""multilingual-e5-base, 100 languages: sentence embeddings of 768 numbers, 12 layers."""

from keras_transformers.families import xlm_roberta
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="multilingual-e5-base, 100 languages: sentence embeddings of 768 numbers, 12 layers.",
    config=xlm_roberta(250_002, num_layers=12, num_heads=12, hidden_dim=768),
    task="sentence_embedding",
    prompts={"query": "query: ", "passage": "passage: "},
    parameters=278_043_648,
    licence="MIT",
    source="hf:intfloat/multilingual-e5-base",
    paper="https://arxiv.org/abs/2402.05672",
)
