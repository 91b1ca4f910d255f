"""Granite 4.0 350M, twelve languages and code, chat: 28 layers of 1024."""

from keras_transformers.families import granitemoehybrid
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Granite 4.0 350M, twelve languages and code, chat: 28 layers of 1024.",
    config=granitemoehybrid(
        100_352,
        num_layers=28,
        num_heads=16,
        num_kv_heads=4,
        hidden_dim=1024,
        intermediate_dim=2048,
        max_length=32_768,
        embedding_scale=12.0,
        residual_scale=0.263,
        attention_scale=0.015625,
        logits_divisor=4.0,
        pad_id=100_256,
        bos_id=100_257,
        eos_ids=(100_257,),
    ),
    task="causal_lm",
    parameters=352_379_904,
    licence="Apache-2.0",
    source="hf:ibm-granite/granite-4.0-350m",
    paper="https://arxiv.org/abs/2203.03466",
)
