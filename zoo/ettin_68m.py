"""Ettin encoder, English: texts of up to 7999 tokens, 19 layers of 512."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Ettin encoder, English: texts of up to 7999 tokens, 19 layers of 512.",
    config=modernbert(
        50_368,
        num_layers=19,
        num_heads=8,
        hidden_dim=512,
        intermediate_dim=768,
        max_length=7999,
        local_wavelength=160_000.0,
    ),
    task="masked_lm",
    parameters=68_144_640,
    licence="MIT",
    source="hf:jhu-clsp/ettin-encoder-68m",
    paper="https://arxiv.org/abs/2507.11412",
)
