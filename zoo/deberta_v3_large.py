"""DeBERTa-v3 large, English: to fine-tune, 24 layers of 1,024."""

from keras_transformers.families import deberta_v2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="DeBERTa-v3 large, English: to fine-tune, 24 layers of 1,024.",
    config=deberta_v2(128_100, num_layers=24, num_heads=16, hidden_dim=1024),
    task="masked_lm",
    parameters=434_012_160,
    licence="MIT",
    source="hf:microsoft/deberta-v3-large",
    paper="https://arxiv.org/abs/2111.09543",
    pickled=True,
)
