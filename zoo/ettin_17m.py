"""Ettin encoder, English: texts of up to 7999 tokens, 7 layers of 256."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Ettin encoder, English: texts of up to 7999 tokens, 7 layers of 256.",
    config=modernbert(
        50_368,
        num_layers=7,
        num_heads=4,
        hidden_dim=256,
        intermediate_dim=384,
        max_length=7999,
        local_wavelength=160_000.0,
    ),
    task="masked_lm",
    parameters=16_797_440,
    licence="MIT",
    source="hf:jhu-clsp/ettin-encoder-17m",
    paper="https://arxiv.org/abs/2507.11412",
)
