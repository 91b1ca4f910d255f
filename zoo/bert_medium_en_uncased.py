"""BERT medium, English, lower-case: 8 layers of 512."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BERT medium, English, lower-case: 8 layers of 512.",
    config=bert(30_522, num_layers=8, num_heads=8, hidden_dim=512),
    task="pretraining",
    parameters=41_373_184,
    licence="Apache-2.0",
    source="hf:google/bert_uncased_L-8_H-512_A-8",
    paper="https://arxiv.org/abs/1908.08962",
    pickled=True,
)
