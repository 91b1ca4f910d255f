"""Granite 4.0 1B, twelve languages and code, chat: 40 layers of 2048."""

from keras_transformers.families import granitemoehybrid
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Granite 4.0 1B, twelve languages and code, chat: 40 layers of 2048.",
    config=granitemoehybrid(
        100_352,
        num_layers=40,
        num_heads=16,
        num_kv_heads=4,
        hidden_dim=2048,
        intermediate_dim=4096,
        max_length=131_072,
        embedding_scale=12.0,
        residual_scale=0.22,
        attention_scale=0.0078125,
        logits_divisor=8.0,
        pad_id=100_256,
        bos_id=100_257,
        eos_ids=(100_257,),
    ),
    task="causal_lm",
    parameters=1_631_750_144,
    licence="Apache-2.0",
    source="hf:ibm-granite/granite-4.0-1b",
    paper="https://arxiv.org/abs/2203.03466",
)
