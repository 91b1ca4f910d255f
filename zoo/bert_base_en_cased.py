"""BERT base, English, cased: 12 layers of 768."""

from keras_transformers.families import bert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BERT base, English, cased: 12 layers of 768.",
    config=bert(28_996, num_layers=12, num_heads=12, hidden_dim=768),
    task="pretraining",
    parameters=108_310_272,
    licence="Apache-2.0",
    source="hf:google-bert/bert-base-cased",
    paper="https://arxiv.org/abs/1810.04805",
)
