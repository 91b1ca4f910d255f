"""GPT-2 large, English: 36 layers of 1280."""

from keras_transformers.families import gpt2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GPT-2 large, English: 36 layers of 1280.",
    config=gpt2(50_257, num_layers=36, num_heads=20, hidden_dim=1280, bos_id=50_256, eos_ids=(50_256,)),
    task="causal_lm",
    parameters=774_030_080,
    licence="MIT",
    source="hf:openai-community/gpt2-large",
    paper="https://openai.com/index/better-language-models",
)
