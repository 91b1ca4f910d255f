"""GPT-2 small, English: 12 layers of 768."""

from keras_transformers.families import gpt2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GPT-2 small, English: 12 layers of 768.",
    config=gpt2(50_257, num_layers=12, num_heads=12, hidden_dim=768, bos_id=50_256, eos_ids=(50_256,)),
    task="causal_lm",
    parameters=124_439_808,
    licence="MIT",
    source="hf:openai-community/gpt2",
    paper="https://openai.com/index/better-language-models",
)
