"""ELECTRA small, English, lower-case, the discriminator: 12 layers of 256."""

from keras_transformers.families import electra
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="ELECTRA small, English, lower-case, the discriminator: 12 layers of 256.",
    config=electra(30_522, num_layers=12, num_heads=4, hidden_dim=256, embedding_dim=128),
    task="replaced_tokens",
    parameters=13_483_008,
    licence="Apache-2.0",
    source="hf:google/electra-small-discriminator",
    pickled=True,
    paper="https://arxiv.org/abs/2003.10555",
)
