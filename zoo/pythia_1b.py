"""Pythia 1B, English and code of the Pile: 16 layers of 2048."""

from keras_transformers.families import gpt_neox
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Pythia 1B, English and code of the Pile: 16 layers of 2048.",
    config=gpt_neox(
        50_304,
        num_layers=16,
        num_heads=8,
        hidden_dim=2048,
        bos_id=0,
        eos_ids=(0,),
    ),
    task="causal_lm",
    parameters=1_011_781_632,
    licence="Apache-2.0",
    source="hf:EleutherAI/pythia-1b",
    paper="https://arxiv.org/abs/2304.01373",
)
