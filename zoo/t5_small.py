"""T5 small, trained on 18 tasks too: 6 + 6 layers of 512."""

from keras_transformers.families import t5
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="T5 small, trained on 18 tasks too: 6 + 6 layers of 512.",
    config=t5(32_128, num_layers=6, num_heads=8, hidden_dim=512),
    task="seq2seq_lm",
    parameters=60_506_624,
    licence="Apache-2.0",
    source="hf:google-t5/t5-small",
    paper="https://arxiv.org/abs/1910.10683",
)
