"""GTE v1.5 large, English: sentence embeddings of 1024 numbers, of up to 8192 tokens."""

from keras_transformers.families import gte
from keras_transformers.families.encoders.gte import ntk_scaling
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GTE v1.5 large, English: sentence embeddings of 1024 numbers, of up to 8192 tokens.",
    config=gte(
        30_528,
        num_layers=24,
        num_heads=16,
        hidden_dim=1024,
        num_segments=2,
        pad_id=0,
        **ntk_scaling(160_000.0, 2.0, 64),
    ),
    task="sentence_embedding",
    parameters=434_139_136,
    licence="Apache-2.0",
    source="hf:Alibaba-NLP/gte-large-en-v1.5",
    paper="https://arxiv.org/abs/2407.19669",
)
