"""FLOPs a token of whole models, from their configurations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_transformers.analysis.cost.complexity import complexity
from keras_transformers.analysis.cost.traced import shapes_only
from keras_transformers.config.limits import most_tokens
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads import language_model_head, pooler
from keras_transformers.models import decoder, encoder, encoder_decoder
from keras_transformers.utils.number_checks import is_size


def flops_per_token(config: TransformerConfig, length: int) -> float:
    """Return the FLOPs of a forward pass per token, counted from the graph that TensorFlow traces.

    Blocks with the same window have products of the same shapes: models of one and of two blocks are traced, and the
    difference counts for each further block with the window of the second. So the largest model takes as long as the
    smallest, and no memory.
    Other conventions: Kaplan et al. 2020, https://arxiv.org/abs/2001.08361, leave out embeddings and half of the
    scores; published figures are often multiply-adds.

    Args:
        config: Configuration of an encoder, counted with its pooler; of a decoder, counted with its output layer for
            every token; or of an encoder-decoder, counted with the output layer.
        length: Tokens of the text; of an encoder and a decoder, of the source and of the target each.

    Returns:
        FLOPs (two for a multiply-add; matrix products only) per token; of an encoder and a decoder, per token of the
        target, with the encoder's share.

    Raises:
        ValueError: The length is no positive integer, or longer than the model.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> config = gpt2(vocabulary_size=100, num_layers=3, num_heads=2, hidden_dim=16)
    >>> flops_per_token(config, length=8) == 2 * (3 * (12 * 16**2 + 2 * 8 * 16) + 16 * 100)
    True
    """
    most = most_tokens(config)
    if not is_size(length) or length > most:
        raise ValueError(
            f"length must be a positive integer, at most {most}, the model's longest text: received {length!r}."
        )
    stacks = ["num_layers", *(["num_decoder_layers"] if config.kind == "encoder_decoder" else [])]
    windows = [options.attention_window for options in config.block_options] or [None]
    one, first = dict.fromkeys(stacks, 1), windows[0]
    least = total = _flops(config, one, [first], length)
    for name in stacks:
        further = Counter(windows[index % len(windows)] for index in range(1, getattr(config, name)))
        for window, number in further.items():
            total += number * (_flops(config, one | {name: 2}, [first, window], length) - least)
    return total / length


def _flops(config: TransformerConfig, layers: dict[str, int], windows: Sequence[int | None], length: int) -> int:
    """Return the FLOPs of a model of given numbers of blocks, by the fields of `TransformerConfig`, with windows."""
    changes: dict[str, Any] = {"num_block_groups": 1} if config.num_block_groups else {}
    if config.block_options:
        changes["block_options"] = [{"attention_window": window} for window in windows]
    model = shapes_only(lambda: whole_model(config.replace(**layers, **changes)))
    inputs = {name: keras.KerasTensor((1, length), dtype="int32") for name in model.input}
    return complexity(model, inputs).flops


def whole_model(config: TransformerConfig) -> keras.Model:
    """Return a model with the layers that its parameter count includes: an encoder's pooler, a decoder's output layer.

    Args:
        config: Configuration of a model of any family.

    Returns:
        A functional model in float32; its inputs are the same as without a head.
    """
    builders: dict[str, Callable] = {"encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder}
    model = builders[config.kind](config, dtype="float32")
    states = model.output["hidden_states"]  # (B, T, D)
    if config.kind == "encoder":
        return keras.Model(model.input, pooler(config, states, "float32", model.input["padding_mask"]))
    return keras.Model(model.input, language_model_head(config, model.get_layer("token_embedding"), states, "float32"))
