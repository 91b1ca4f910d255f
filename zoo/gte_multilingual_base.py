"""GTE multilingual base, 75 languages: sentence embeddings of 768 numbers, of up to 8192 tokens."""

from keras_transformers.families import gte
from keras_transformers.families.encoders.gte import ntk_scaling
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GTE multilingual base, 75 languages: sentence embeddings of 768 numbers, of up to 8192 tokens.",
    config=gte(
        250_048, num_layers=12, num_heads=12, hidden_dim=768, classifier_dropout=0.0, **ntk_scaling(20_000.0, 8.0, 64)
    ),
    task="sentence_embedding",
    parameters=305_368_320,
    licence="Apache-2.0",
    source="hf:Alibaba-NLP/gte-multilingual-base",
    paper="https://arxiv.org/abs/2407.19669",
)
