"""GPT-1, English, lower-case: 12 layers of 768."""

from keras_transformers.families import gpt1
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GPT-1, English, lower-case: 12 layers of 768.",
    config=gpt1(40_478, num_layers=12, num_heads=12, hidden_dim=768),
    task="causal_lm",
    parameters=116_534_784,
    licence="MIT",
    source="hf:openai-community/openai-gpt",
    paper="https://openai.com/index/language-unsupervised",
)
