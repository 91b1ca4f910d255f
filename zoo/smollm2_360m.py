"""SmolLM2 360M, English and code: 32 layers of 960."""

from keras_transformers.families import llama
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="SmolLM2 360M, English and code: 32 layers of 960.",
    config=llama(
        49_152,
        num_layers=32,
        num_heads=15,
        num_kv_heads=5,
        hidden_dim=960,
        intermediate_dim=2560,
        max_length=8192,
        max_wavelength=100_000.0,
        epsilon=1e-5,
        tie_embeddings=True,
        bos_id=0,
        eos_ids=(0,),
        initializer_range=0.02,
    ),
    task="causal_lm",
    parameters=361_821_120,
    licence="Apache-2.0",
    source="hf:HuggingFaceTB/SmolLM2-360M",
    paper="https://arxiv.org/abs/2502.02737",
)
