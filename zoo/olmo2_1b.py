"""OLMo 2 1B, English and code: 16 layers of 2048."""

from keras_transformers.families import olmo2
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="OLMo 2 1B, English and code: 16 layers of 2048.",
    config=olmo2(
        100_352,
        num_layers=16,
        num_heads=16,
        hidden_dim=2048,
        intermediate_dim=8192,
        pad_id=100_277,
        eos_ids=(100_257,),
    ),
    task="causal_lm",
    parameters=1_484_916_736,
    licence="Apache-2.0",
    source="hf:allenai/OLMo-2-0425-1B",
    paper="https://arxiv.org/abs/2501.00656",
)
