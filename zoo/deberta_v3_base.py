"""DeBERTa-v3 base, English: to fine-tune, 12 layers of 768."""

from keras_transformers.families import deberta_v2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="DeBERTa-v3 base, English: to fine-tune, 12 layers of 768.",
    config=deberta_v2(128_100, num_layers=12, num_heads=12, hidden_dim=768),
    task="masked_lm",
    parameters=183_831_552,
    licence="MIT",
    source="hf:microsoft/deberta-v3-base",
    paper="https://arxiv.org/abs/2111.09543",
    pickled=True,
)
