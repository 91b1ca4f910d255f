"""Granite 3.1 2B, twelve languages and code: 40 layers of 2048."""

from keras_transformers.families import granite
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Granite 3.1 2B, twelve languages and code: 40 layers of 2048.",
    config=granite(
        49_155,
        num_layers=40,
        num_heads=32,
        num_kv_heads=8,
        hidden_dim=2048,
        intermediate_dim=8192,
        max_length=131_072,
        max_wavelength=5_000_000.0,
        embedding_scale=12.0,
        residual_scale=0.22,
        attention_scale=0.015625,
        logits_divisor=8.0,
        tie_embeddings=True,
        pad_id=0,
        bos_id=0,
        eos_ids=(0,),
    ),
    task="causal_lm",
    parameters=2_533_531_648,
    licence="Apache-2.0",
    source="hf:ibm-granite/granite-3.1-2b-base",
    paper="https://arxiv.org/abs/2203.03466",
)
