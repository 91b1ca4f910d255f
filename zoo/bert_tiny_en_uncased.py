"""BERT tiny, English, lower-case: 2 layers of 128."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BERT tiny, English, lower-case: 2 layers of 128.",
    config=bert(30_522, num_layers=2, num_heads=2, hidden_dim=128),
    task="pretraining",
    parameters=4_385_920,
    licence="Apache-2.0",
    source="hf:google/bert_uncased_L-2_H-128_A-2",
    paper="https://arxiv.org/abs/1908.08962",
    pickled=True,
)
