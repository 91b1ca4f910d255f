"""OPT 125M, English: 12 layers of 768."""

from keras_transformers.families import opt
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="OPT 125M, English: 12 layers of 768.",
    config=opt(
        50_272,
        num_layers=12,
        num_heads=12,
        hidden_dim=768,
    ),
    task="causal_lm",
    parameters=125_237_760,
    licence="OPT terms",
    source="hf:facebook/opt-125m",
    paper="https://arxiv.org/abs/2205.01068",
)
