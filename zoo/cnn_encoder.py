"""A convolutional encoder of the parameters of mini_bert_en; sizes to train.

    task = zoo.load("cnn_encoder", task="classification", labels=["negative", "positive"], weights=False)

It reads the tokens of mini_bert_en. A state of the last block sees 8 tokens to each side.
"""

from keras_transformers.families import convolutional
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="A convolutional encoder, to compare with mini_bert_en: 8 gated convolutions of width 3.",
    config=convolutional(8_192, num_layers=8, hidden_dim=256, max_length=128, num_segments=2),
    task="pretraining",
    parameters=5_350_656,
    licence="none",
    paper="https://arxiv.org/abs/1705.03122",
    tokenizer="mini_bert_en",
)
