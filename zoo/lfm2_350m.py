"""LFM2 350M: 16 layers of 1,024, 10 with short convolutions and 6 with attention, 8 languages."""

from keras_transformers.families import lfm2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="LFM2 350M: 16 layers of 1,024, 10 with short convolutions and 6 with attention, 8 languages.",
    config=lfm2(
        65_536,
        num_layers=16,
        num_heads=16,
        num_kv_heads=8,
        hidden_dim=1024,
        intermediate_dim=4608,
        pad_id=0,
        bos_id=1,
        eos_ids=(7,),
    ),
    task="causal_lm",
    parameters=354_483_968,
    licence="LFM 1.0",
    source="hf:LiquidAI/LFM2-350M",
    paper="https://arxiv.org/abs/2511.23404",
)
