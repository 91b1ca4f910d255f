"""Ettin encoder, English: texts of up to 7999 tokens, 22 layers of 768."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Ettin encoder, English: texts of up to 7999 tokens, 22 layers of 768.",
    config=modernbert(
        50_368,
        num_layers=22,
        num_heads=12,
        hidden_dim=768,
        intermediate_dim=1152,
        max_length=7999,
        local_wavelength=160_000.0,
    ),
    task="masked_lm",
    parameters=149_014_272,
    licence="MIT",
    source="hf:jhu-clsp/ettin-encoder-150m",
    paper="https://arxiv.org/abs/2507.11412",
)
