"""OPT 1.3B, English: 24 layers of 2048."""

from keras_transformers.families import opt
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="OPT 1.3B, English: 24 layers of 2048.",
    config=opt(
        50_272,
        num_layers=24,
        num_heads=32,
        hidden_dim=2048,
    ),
    task="causal_lm",
    parameters=1_315_753_984,
    licence="OPT terms",
    source="hf:facebook/opt-1.3b",
    paper="https://arxiv.org/abs/2205.01068",
)
