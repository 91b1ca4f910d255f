"""EuroBERT, 15 languages, mathematics and code: texts of up to 8192 tokens, 12 layers of 768."""

from keras_transformers.families import eurobert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="EuroBERT, 15 languages, mathematics and code: texts of up to 8192 tokens, 12 layers of 768.",
    config=eurobert(128_256, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=3072),
    task="masked_lm",
    parameters=211_766_016,
    licence="Apache-2.0",
    source="hf:EuroBERT/EuroBERT-210m",
    paper="https://arxiv.org/abs/2503.05500",
)
