"""Pythia 70M, English and code of the Pile: 6 layers of 512."""

from keras_transformers.families import gpt_neox
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Pythia 70M, English and code of the Pile: 6 layers of 512.",
    config=gpt_neox(
        50_304,
        num_layers=6,
        num_heads=8,
        hidden_dim=512,
        bos_id=0,
        eos_ids=(0,),
    ),
    task="causal_lm",
    parameters=70_426_624,
    licence="Apache-2.0",
    source="hf:EleutherAI/pythia-70m",
    paper="https://arxiv.org/abs/2304.01373",
)
