"""The base model of Attention is all you need: 6 + 6 layers of 512; sizes to train."""

from keras_transformers.families import transformer
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="The base model of Attention is all you need: 6 + 6 layers of 512; sizes to train.",
    config=transformer(37_000),
    task="seq2seq_lm",
    parameters=63_082_496,
    licence="none",
    paper="https://arxiv.org/abs/1706.03762",
)
