"""ELECTRA base, English, lower-case, the discriminator: 12 layers of 768."""

from keras_transformers.families import electra
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="ELECTRA base, English, lower-case, the discriminator: 12 layers of 768.",
    config=electra(30_522, num_layers=12, num_heads=12, hidden_dim=768),
    task="replaced_tokens",
    parameters=108_891_648,
    licence="Apache-2.0",
    source="hf:google/electra-base-discriminator",
    pickled=True,
    paper="https://arxiv.org/abs/2003.10555",
)
