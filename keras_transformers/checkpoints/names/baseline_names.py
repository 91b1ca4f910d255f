"""Names of our own, for recurrent and convolutional models: no class of `transformers` computes them."""

import dataclasses
from collections.abc import Callable

from keras_transformers import families
from keras_transformers.checkpoints.names.bert import BERT
from keras_transformers.checkpoints.names.table import Names
from keras_transformers.config.transformer_config import TransformerConfig

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
        fields={
            field.name: field.name
            for field in dataclasses.fields(TransformerConfig)
            if field.name not in ("family", "block_options")
        },
        activations={activation: activation for activation in ACTIVATIONS},
        fixed={},
        equal={},
    )


RECURRENT = _table("Recurrent", families.recurrent)
CONVOLUTIONAL = _table("Convolutional", families.convolutional)
