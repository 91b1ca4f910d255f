"""Names of our own, for Transformers that no class of `transformers` computes."""

import dataclasses

from keras_transformers import families
from keras_transformers.checkpoints.names.marian import MARIAN
from keras_transformers.checkpoints.names.table import Names
from keras_transformers.config.transformer_config import TransformerConfig

OPTIONAL = ("embedding_norm", "final_norm", "position_embedding", "positions", "block_{i}/feed_forward/gate")
LAYERS = [*MARIAN.weights, "encoder_token_embedding"]
LAYERS += [f"{side}_{layer}" for side in ("encoder", "decoder") for layer in OPTIONAL]
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "tanh")

TRANSFORMER = Names(
    model_type="transformer",
    configure=families.transformer,
    prefix="",
    weights={layer: layer.replace("/", ".") for layer in LAYERS},
    optional=("lm_head.", "output_bias."),
    redundant="",
    copies={},
    architectures={"Transformer": (), "TransformerForSeq2SeqLM": ("lm_head", "output_bias")},
    tasks={"seq2seq_lm": "TransformerForSeq2SeqLM"},
    fields={
        field.name: field.name
        for field in dataclasses.fields(TransformerConfig)
        if field.name not in ("family", "kind", "mixer", "cross_attention", "kernel_size")
    },
    activations={name: name for name in ACTIVATIONS},
    fixed={},
    equal={},
)
