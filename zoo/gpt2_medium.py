"""GPT-2 medium, English: 24 layers of 1024."""

from keras_transformers.families import gpt2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GPT-2 medium, English: 24 layers of 1024.",
    config=gpt2(50_257, num_layers=24, num_heads=16, hidden_dim=1024, bos_id=50_256, eos_ids=(50_256,)),
    task="causal_lm",
    parameters=354_823_168,
    licence="MIT",
    source="hf:openai-community/gpt2-medium",
    paper="https://openai.com/index/better-language-models",
)
