"""DistilBERT base, 104 languages, cased: 6 layers of 768."""

from keras_transformers.families import distilbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="DistilBERT base, 104 languages, cased: 6 layers of 768.",
    config=distilbert(119_547, num_layers=6, num_heads=12, hidden_dim=768),
    task="masked_lm",
    parameters=134_734_080,
    licence="Apache-2.0",
    source="hf:distilbert/distilbert-base-multilingual-cased",
    paper="https://arxiv.org/abs/1910.01108",
)
