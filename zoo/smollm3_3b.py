"""SmolLM3 3B, six languages and code: 36 layers of 2048."""

from keras_transformers.families import smollm3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="SmolLM3 3B, six languages and code: 36 layers of 2048.",
    config=smollm3(
        128_256,
        num_layers=36,
        num_heads=16,
        num_kv_heads=4,
        hidden_dim=2048,
        intermediate_dim=11_008,
        pad_id=128_004,
        bos_id=128_000,
        eos_ids=(128_012,),
    ),
    task="causal_lm",
    parameters=3_075_098_624,
    licence="Apache-2.0",
    source="hf:HuggingFaceTB/SmolLM3-3B",
    paper="https://huggingface.co/blog/smollm3",
)
