"""DistilBERT base, English, lower-case: 6 layers of 768."""

from keras_transformers.families import distilbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="DistilBERT base, English, lower-case: 6 layers of 768.",
    config=distilbert(30_522, num_layers=6, num_heads=12, hidden_dim=768),
    task="masked_lm",
    parameters=66_362_880,
    licence="Apache-2.0",
    source="hf:distilbert/distilbert-base-uncased",
    paper="https://arxiv.org/abs/1910.01108",
)
