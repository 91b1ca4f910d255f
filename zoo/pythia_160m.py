"""Pythia 160M, English and code of the Pile: 12 layers of 768."""

from keras_transformers.families import gpt_neox
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Pythia 160M, English and code of the Pile: 12 layers of 768.",
    config=gpt_neox(
        50_304,
        num_layers=12,
        num_heads=12,
        hidden_dim=768,
        bos_id=0,
        eos_ids=(0,),
    ),
    task="causal_lm",
    parameters=162_322_944,
    licence="Apache-2.0",
    source="hf:EleutherAI/pythia-160m",
    paper="https://arxiv.org/abs/2304.01373",
)
