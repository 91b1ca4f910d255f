"""ELECTRA large, English, lower-case, the discriminator: 24 layers of 1024."""

from keras_transformers.families import electra
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="ELECTRA large, English, lower-case, the discriminator: 24 layers of 1024.",
    config=electra(30_522, num_layers=24, num_heads=16, hidden_dim=1024),
    task="replaced_tokens",
    parameters=334_092_288,
    licence="Apache-2.0",
    source="hf:google/electra-large-discriminator",
    pickled=True,
    paper="https://arxiv.org/abs/2003.10555",
)
