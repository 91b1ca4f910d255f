"""Families of baselines to compare Transformers with: recurrent and convolutional models, and vectors of tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.encoders.bert import BERT
from keras_transformers.families.sizes import named_config
from keras_transformers.families.table import CONFIG_FIELDS, Names


def recurrent(
    vocabulary_size: int, num_layers: int, hidden_dim: int, intermediate_dim: int | None = None, max_length: int = 512,
    num_heads: int = 1, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe a recurrent model: a language model, an encoder, or an encoder and a decoder, with attention or without.

    LSTMs by default, with residual connections and pre-norm as in RNMT+ (Chen et al. 2018,
    https://arxiv.org/abs/1804.09849): without them deep stacks hardly train. No positions: the order is in the
    recurrence. Weights are Keras', Glorot uniform and orthogonal; embeddings start small: the output is tied to them.
    Papers: Sutskever et al. 2014, https://arxiv.org/abs/1409.3215; with attention, Bahdanau et al. 2014,
    https://arxiv.org/abs/1409.0473, and Luong et al. 2015, https://arxiv.org/abs/1508.04025.

    Args:
        vocabulary_size: Rows of the token embedding.
        num_layers: Blocks.
        hidden_dim: Width of embeddings and hidden states.
        intermediate_dim: Width of the states, both directions together; `hidden_dim` when None.
        max_length: Longest sequence, in tokens; the model itself has no bound.
        num_heads: Heads of the attention to an encoder.
        **options: Any other field of `TransformerConfig`: `kind` (a decoder when not given), `mixer`
            (`"simple_rnn"`, `"gru"` or `"lstm"`), `cross_attention`, ...

    Returns:
        A `TransformerConfig`.

    Example:

    >>> recurrent(4096, num_layers=2, hidden_dim=256).mixer
    'lstm'
    """
    facts = {"mixer": "lstm", "positions": None, "activation": "tanh", "embedding_initializer_range": 0.02}
    return _counterpart("recurrent", (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length),
                        facts | options)  # fmt: skip


def convolutional(
    vocabulary_size: int, num_layers: int, hidden_dim: int, intermediate_dim: int | None = None, max_length: int = 512,
    num_heads: int = 1, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe a convolutional model: gated convolutions with residual connections and learned positions.

    Gates, positions and the embeddings' initialiser are as in Gehring et al. 2017, https://arxiv.org/abs/1705.03122.
    Norms take the place of their fixed scales. Other weights are Glorot uniform.

    Args:
        vocabulary_size, num_layers, hidden_dim, max_length, num_heads: As for `recurrent`.
        intermediate_dim: Channels of the convolutions; `hidden_dim` when None.
        **options: As for `recurrent`; `kind` is an encoder when not given. `kernel_size` is 3.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> convolutional(8192, num_layers=4, hidden_dim=256).kind
    'encoder'
    """
    facts = {
        "kind": "encoder", "mixer": "convolution", "positions": "learned", "activation": "sigmoid", "gated": True,
        "embedding_initializer_range": 0.1,
    }  # fmt: skip
    return _counterpart("convolutional", (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim,
                        max_length), facts | options)  # fmt: skip


def static(
    vocabulary_size: int, hidden_dim: int, max_length: int = 1_000_000, num_layers: int = 0, num_heads: int = 1,
    intermediate_dim: int | None = None, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe a model of vectors of tokens alone, whose mean is the vector of a text: no blocks, no positions.

    As `StaticEmbedding` of sentence-transformers and model2vec have it.
    Paper: Shen et al. 2018, "Baseline Needs More Love", https://arxiv.org/abs/1805.09843.

    Args:
        vocabulary_size: Rows of the table.
        hidden_dim: Numbers of a vector.
        max_length: Longest text, in tokens; the model itself has no bound.
        num_layers, num_heads, intermediate_dim: There are no blocks: 0, and not used.
        **options: Any other field of `TransformerConfig`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> static(4096, hidden_dim=256).num_layers
    0
    """
    facts = {"mixer": "none", "positions": None, "embedding_norm": False, "dropout": 0.0, "attention_dropout": 0.0}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return named_config("model2vec", sizes, facts | options)


def _counterpart(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    hidden_dim = sizes[3]
    sizes = (*sizes[:4], sizes[4] or hidden_dim, *sizes[5:])
    shared = {
        "kind": "decoder", "dropout": 0.1, "attention_dropout": 0.0, "epsilon": 1e-5, "norm": "layer",
        "norm_order": "pre", "embedding_norm": False, "initializer_range": None,
    }  # fmt: skip
    if facts.get("kind") == "encoder_decoder":
        shared["decoder_start_id"] = facts.get("pad_id", 0)
    return named_config(family, tuple(sizes), shared | facts)


CELLS = [f"mixer/{way}/restarting/cell" for way in ("forward", "backward")]
BLOCK = [*CELLS, "mixer/convolve", "mixer/output", "mixer_norm", "first_key", "first_value", "cross_attention_norm"]
BLOCK += [f"cross_attention/{part}" for part in ("query", "key", "value", "output")]
OF_STACKS = ["position_embedding", "embedding_norm", "final_norm"]
OF_STACKS += [f"{side}_{layer}" for side in ("encoder", "decoder") for layer in OF_STACKS]
OF_STACKS += [f"{side}_block_{{i}}/{layer}" for side in ("encoder", "decoder") for layer in BLOCK]
LAYERS = ["token_embedding", "encoder_token_embedding", *OF_STACKS]
WHOLE = ["token_embedding/segment_embeddings"]  # weights that are not named kernel, bias, ...
WHOLE += [f"{side}_block_{{i}}/{cell}/recurrent_kernel" for side in ("encoder", "decoder") for cell in CELLS]
HEADS = sorted({*(layer for layers in BERT.architectures.values() for layer in layers), "lm_head", "output_bias"})
ACTIVATIONS = ("tanh", "sigmoid", "relu", "linear", "gelu", "gelu_tanh", "silu")
WRITERS = {"causal_lm": "ForCausalLM", "seq2seq_lm": "ForSeq2SeqLM"}


def _table(name: str, configure: Callable[..., TransformerConfig]) -> Names:
    encoders = {theirs.replace("Bert", name): layers for theirs, layers in BERT.architectures.items()}
    writers = {name + theirs: ("lm_head", "output_bias") for theirs in WRITERS.values()}
    return Names(
        model_type=name.lower(),
        configure=configure,
        prefix="",
        weights={path: path.replace("/", ".") for path in (*LAYERS, *WHOLE, *HEADS)},
        optional=tuple(f"{head}." for head in HEADS),
        redundant="",
        copies={},
        architectures={**encoders, **writers},
        tasks={
            **{task: name + theirs for task, theirs in WRITERS.items()},
            **{task: theirs.replace("Bert", name) for task, theirs in BERT.tasks.items()},
        },
        fields={name: name for name in CONFIG_FIELDS if name not in ("family", "block_options")},
        activations={activation: activation for activation in ACTIVATIONS},
        fixed={},
        equal={},
    )


RECURRENT = _table("Recurrent", recurrent)
CONVOLUTIONAL = _table("Convolutional", convolutional)
TABLE = "embeddings"  # of model2vec, which sentence-transformers reads, too
STATIC = Names(
    model_type="model2vec",
    configure=static,
    prefix="",
    weights={"token_embedding/embeddings": TABLE},
    optional=(),
    redundant="",
    copies={},
    architectures={"StaticModel": ()},
    tasks={"sentence_embedding": "StaticModel"},
    fields={
        "vocabulary_size": "vocab_size", "hidden_dim": "hidden_dim", "max_length": "seq_length",
        "pad_id": "pad_token_id", "activation": "hidden_act",
    },
    activations={"gelu": "gelu"},
    fixed={},
    equal={},
    required=("vocabulary_size", "hidden_dim"),
)  # fmt: skip
