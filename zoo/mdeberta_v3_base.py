"""mDeBERTa-v3 base, 100 languages: to fine-tune, 12 layers of 768."""

from keras_transformers.families import deberta_v2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="mDeBERTa-v3 base, 100 languages: to fine-tune, 12 layers of 768.",
    config=deberta_v2(251_000, num_layers=12, num_heads=12, hidden_dim=768),
    task="masked_lm",
    parameters=278_218_752,
    licence="MIT",
    source="hf:microsoft/mdeberta-v3-base",
    paper="https://arxiv.org/abs/2111.09543",
    pickled=True,
)
