"""BERT large, English, lower-case: 24 layers of 1024."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BERT large, English, lower-case: 24 layers of 1024.",
    config=bert(30_522, num_layers=24, num_heads=16, hidden_dim=1024),
    task="pretraining",
    parameters=335_141_888,
    licence="Apache-2.0",
    source="hf:google-bert/bert-large-uncased",
    paper="https://arxiv.org/abs/1810.04805",
)
