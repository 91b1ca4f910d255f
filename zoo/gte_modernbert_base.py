"""GTE on ModernBERT base, English: sentence embeddings of 768 numbers, of up to 8192 tokens."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GTE on ModernBERT base, English: sentence embeddings of 768 numbers, of up to 8192 tokens.",
    config=modernbert(50_368, num_layers=22, num_heads=12, hidden_dim=768, intermediate_dim=1152),
    task="sentence_embedding",
    parameters=149_014_272,
    licence="Apache-2.0",
    source="hf:Alibaba-NLP/gte-modernbert-base",
    paper="https://arxiv.org/abs/2407.19669",
)
