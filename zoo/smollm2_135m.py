"""SmolLM2 135M, English and code: 30 layers of 576."""

from keras_transformers.families import llama
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="SmolLM2 135M, English and code: 30 layers of 576.",
    config=llama(
        49_152,
        num_layers=30,
        num_heads=9,
        num_kv_heads=3,
        hidden_dim=576,
        intermediate_dim=1536,
        max_length=8192,
        max_wavelength=100_000.0,
        epsilon=1e-5,
        tie_embeddings=True,
        bos_id=0,
        eos_ids=(0,),
        initializer_range=1 / 24,
    ),
    task="causal_lm",
    parameters=134_515_008,
    licence="Apache-2.0",
    source="hf:HuggingFaceTB/SmolLM2-135M",
    paper="https://arxiv.org/abs/2502.02737",
)
