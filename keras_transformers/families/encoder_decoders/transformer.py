"""our own, for Transformers that no class of `transformers` computes: the function, and the names of Hugging Face."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.limits import MOST
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoder_decoders.marian import MARIAN, sinusoidal_config
from keras_transformers.families.table import CONFIG_FIELDS, Names
from keras_transformers.utils.number_checks import is_size


def transformer(
    vocabulary_size: int, num_layers: int = 6, num_heads: int = 8, hidden_dim: int = 512,
    intermediate_dim: int | None = None, max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe the original Transformer: a post-norm encoder and decoder with sinusoidal positions; base size by
    default.

    Encoder, decoder and output share one embedding, scaled by sqrt(hidden_dim) where tokens are looked up. Epsilon and
    initialisers, which the paper does not give, are fairseq's, but embeddings start within two standard deviations.
    With `position_layout="halves"` it is saved as a Marian checkpoint. Paper: Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`;
            `num_decoder_layers` if the decoder has another number. The decoder begins with the padding token.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> transformer(37000).intermediate_dim
    2048
    """
    facts = {
        "activation": "relu", "initializer_range": None, "decoder_start_id": options.get("pad_id", 0),
    }  # fmt: skip
    if is_size(hidden_dim):  # if not, the configuration says so
        facts["embedding_initializer_range"] = min(int(hidden_dim), MOST) ** -0.5
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return sinusoidal_config("transformer", sizes, facts | options)


OPTIONAL = ("embedding_norm", "final_norm", "position_embedding", "positions", "block_{i}/feed_forward/gate")
LAYERS = [*MARIAN.weights, "encoder_token_embedding"]
LAYERS += [f"{side}_{layer}" for side in ("encoder", "decoder") for layer in OPTIONAL]
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "tanh")

TRANSFORMER = Names(
    model_type="transformer",
    configure=transformer,
    prefix="",
    weights={layer: layer.replace("/", ".") for layer in LAYERS},
    optional=("lm_head.", "output_bias."),
    redundant="",
    copies={},
    architectures={"Transformer": (), "TransformerForSeq2SeqLM": ("lm_head", "output_bias")},
    tasks={"seq2seq_lm": "TransformerForSeq2SeqLM"},
    fields={
        name: name
        for name in CONFIG_FIELDS
        if name not in ("family", "kind", "mixer", "cross_attention", "kernel_size")
    },
    activations={name: name for name in ACTIVATIONS},
    fixed={},
    equal={},
)
