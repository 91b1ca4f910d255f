"""T5 1.1 base, trained on span corruption alone: 12 + 12 layers of 768."""

from keras_transformers.families import t5
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="T5 1.1 base, trained on span corruption alone: 12 + 12 layers of 768.",
    config=t5(32_128, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=2048, gated=True),
    task="seq2seq_lm",
    parameters=247_577_856,
    licence="Apache-2.0",
    source="hf:google/t5-v1_1-base",
    paper="https://arxiv.org/abs/1910.10683",
    pickled=True,
)
