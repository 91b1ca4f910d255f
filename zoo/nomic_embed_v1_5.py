"""Nomic Embed v1.5, English: sentence vectors of 768, 12 layers of 768, 2,048 tokens."""

from keras_transformers.families import nomic_bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Nomic Embed v1.5, English: sentence vectors of 768, 12 layers of 768, 2,048 tokens.",
    config=nomic_bert(30_528, num_layers=12, num_heads=12, hidden_dim=768),
    task="sentence_embedding",
    parameters=136_731_648,
    licence="Apache-2.0",
    source="hf:nomic-ai/nomic-embed-text-v1.5",
    paper="https://arxiv.org/abs/2402.01613",
)
