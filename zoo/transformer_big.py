"""The big model of Attention is all you need: 6 + 6 layers of 1024; sizes to train."""

from keras_transformers.families import transformer
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="The big model of Attention is all you need: 6 + 6 layers of 1024; sizes to train.",
    config=transformer(37_000, num_heads=16, hidden_dim=1024, dropout=0.3),
    task="seq2seq_lm",
    parameters=214_245_376,
    licence="none",
    paper="https://arxiv.org/abs/1706.03762",
)
