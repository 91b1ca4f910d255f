"""T5 base, trained on 18 tasks too: 12 + 12 layers of 768."""

from keras_transformers.families import t5
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="T5 base, trained on 18 tasks too: 12 + 12 layers of 768.",
    config=t5(32_128, num_layers=12, num_heads=12, hidden_dim=768),
    task="seq2seq_lm",
    parameters=222_903_552,
    licence="Apache-2.0",
    source="hf:google-t5/t5-base",
    paper="https://arxiv.org/abs/1910.10683",
)
