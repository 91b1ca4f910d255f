"""Ettin encoder, English: texts of up to 7999 tokens, 10 layers of 384."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Ettin encoder, English: texts of up to 7999 tokens, 10 layers of 384.",
    config=modernbert(
        50_368,
        num_layers=10,
        num_heads=6,
        hidden_dim=384,
        intermediate_dim=576,
        max_length=7999,
        local_wavelength=160_000.0,
    ),
    task="masked_lm",
    parameters=31_883_136,
    licence="MIT",
    source="hf:jhu-clsp/ettin-encoder-32m",
    paper="https://arxiv.org/abs/2507.11412",
)
