"""Pythia 1.4B, English and code of the Pile: 24 layers of 2048."""

from keras_transformers.families import gpt_neox
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Pythia 1.4B, English and code of the Pile: 24 layers of 2048.",
    config=gpt_neox(
        50_304,
        num_layers=24,
        num_heads=16,
        hidden_dim=2048,
        bos_id=0,
        eos_ids=(0,),
    ),
    task="causal_lm",
    parameters=1_414_647_808,
    licence="Apache-2.0",
    source="hf:EleutherAI/pythia-1.4b",
    paper="https://arxiv.org/abs/2304.01373",
)
