"""DistilGPT2, distilled from GPT-2 small, English: 6 layers of 768."""

from keras_transformers.families import gpt2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="DistilGPT2, distilled from GPT-2 small, English: 6 layers of 768.",
    config=gpt2(50_257, num_layers=6, num_heads=12, hidden_dim=768, bos_id=50_256, eos_ids=(50_256,)),
    task="causal_lm",
    parameters=81_912_576,
    licence="Apache-2.0",
    source="hf:distilbert/distilgpt2",
    paper="https://arxiv.org/abs/1910.01108",
)
