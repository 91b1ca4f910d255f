"""ModernBERT large, English, cased: texts of up to 8192 tokens, 28 layers of 1024."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="ModernBERT large, English, cased: texts of up to 8192 tokens, 28 layers of 1024.",
    config=modernbert(50_368, num_layers=28, num_heads=16, hidden_dim=1024, intermediate_dim=2624),
    task="masked_lm",
    parameters=394_781_696,
    licence="Apache-2.0",
    source="hf:answerdotai/ModernBERT-large",
    paper="https://arxiv.org/abs/2412.13663",
)
