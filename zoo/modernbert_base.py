"""ModernBERT base, English, cased: texts of up to 8192 tokens, 22 layers of 768."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="ModernBERT base, English, cased: texts of up to 8192 tokens, 22 layers of 768.",
    config=modernbert(50_368, num_layers=22, num_heads=12, hidden_dim=768, intermediate_dim=1152),
    task="masked_lm",
    parameters=149_014_272,
    licence="Apache-2.0",
    source="hf:answerdotai/ModernBERT-base",
    paper="https://arxiv.org/abs/2412.13663",
)
