"""BART large, fine-tuned to summarise news (CNN, Daily Mail)."""

from keras_transformers.families import bart
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="BART large, fine-tuned to summarise news (CNN, Daily Mail).",
    config=bart(50_264, num_layers=12, num_heads=16, hidden_dim=1024, attention_dropout=0.0, activation_dropout=0.0),
    task="seq2seq_lm",
    parameters=406_286_336,
    licence="MIT",
    source="hf:facebook/bart-large-cnn",
    paper="https://arxiv.org/abs/1910.13461",
)
