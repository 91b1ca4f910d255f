"""OPT 350M, English: 24 layers of 1024."""

from keras_transformers.families import opt
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="OPT 350M, English: 24 layers of 1024.",
    config=opt(
        50_272,
        num_layers=24,
        num_heads=16,
        hidden_dim=1024,
        norm_order="post",
        embedding_dim=512,
    ),
    task="causal_lm",
    parameters=331_194_368,
    licence="OPT terms",
    source="hf:facebook/opt-350m",
    paper="https://arxiv.org/abs/2205.01068",
)
