"""ALBERT base, version 2, English, lower-case: one layer of 768, used 12 times."""

from keras_transformers.families import albert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="ALBERT base, version 2, English, lower-case: one layer of 768, used 12 times.",
    config=albert(30_000, num_layers=12, num_heads=12, hidden_dim=768),
    task="masked_lm",
    parameters=11_683_584,
    licence="Apache-2.0",
    source="hf:albert/albert-base-v2",
    paper="https://arxiv.org/abs/1909.11942",
)
