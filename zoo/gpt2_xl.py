"""GPT-2 XL, English: 48 layers of 1600."""

from keras_transformers.families import gpt2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GPT-2 XL, English: 48 layers of 1600.",
    config=gpt2(50_257, num_layers=48, num_heads=25, hidden_dim=1600, bos_id=50_256, eos_ids=(50_256,)),
    task="causal_lm",
    parameters=1_557_611_200,
    licence="MIT",
    source="hf:openai-community/gpt2-xl",
    paper="https://openai.com/index/better-language-models",
)
