"""Ettin encoder, English: texts of up to 7999 tokens, 28 layers of 1792."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Ettin encoder, English: texts of up to 7999 tokens, 28 layers of 1792.",
    config=modernbert(
        50_368,
        num_layers=28,
        num_heads=28,
        hidden_dim=1792,
        intermediate_dim=3840,
        max_length=7999,
        local_wavelength=160_000.0,
    ),
    task="masked_lm",
    parameters=1_028_050_688,
    licence="MIT",
    source="hf:jhu-clsp/ettin-encoder-1b",
    paper="https://arxiv.org/abs/2507.11412",
)
