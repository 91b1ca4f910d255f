"""BERT mini, English, lower-case: 4 layers of 256."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BERT mini, English, lower-case: 4 layers of 256.",
    config=bert(30_522, num_layers=4, num_heads=4, hidden_dim=256),
    task="pretraining",
    parameters=11_170_560,
    licence="Apache-2.0",
    source="hf:google/bert_uncased_L-4_H-256_A-4",
    paper="https://arxiv.org/abs/1908.08962",
    pickled=True,
)
