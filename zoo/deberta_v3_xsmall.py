"""DeBERTa-v3 xsmall, English: to fine-tune, 12 layers of 384."""

from keras_transformers.families import deberta_v2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="DeBERTa-v3 xsmall, English: to fine-tune, 12 layers of 384.",
    config=deberta_v2(128_100, num_layers=12, num_heads=6, hidden_dim=384),
    task="masked_lm",
    parameters=70_682_112,
    licence="MIT",
    source="hf:microsoft/deberta-v3-xsmall",
    paper="https://arxiv.org/abs/2111.09543",
    pickled=True,
)
