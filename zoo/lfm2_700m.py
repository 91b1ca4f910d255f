"""LFM2 700M: 16 layers of 1,536, 10 with short convolutions and 6 with attention, 8 languages."""

from keras_transformers.families import lfm2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="LFM2 700M: 16 layers of 1,536, 10 with short convolutions and 6 with attention, 8 languages.",
    config=lfm2(
        65_536,
        num_layers=16,
        num_heads=24,
        num_kv_heads=8,
        hidden_dim=1536,
        intermediate_dim=6912,
        pad_id=0,
        bos_id=1,
        eos_ids=(7,),
    ),
    task="causal_lm",
    parameters=742_489_344,
    licence="LFM 1.0",
    source="hf:LiquidAI/LFM2-700M",
    paper="https://arxiv.org/abs/2511.23404",
)
