"""Ettin encoder, English: texts of up to 7999 tokens, 28 layers of 1024."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Ettin encoder, English: texts of up to 7999 tokens, 28 layers of 1024.",
    config=modernbert(
        50_368,
        num_layers=28,
        num_heads=16,
        hidden_dim=1024,
        intermediate_dim=2624,
        max_length=7999,
        local_wavelength=160_000.0,
    ),
    task="masked_lm",
    parameters=394_781_696,
    licence="MIT",
    source="hf:jhu-clsp/ettin-encoder-400m",
    paper="https://arxiv.org/abs/2507.11412",
)
