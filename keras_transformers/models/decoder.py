"""Decoder-only models: every token attends to itself and to those before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from keras_transformers.config import TransformerConfig
from keras_transformers.layers import PositionIds, causal_mask, combine, document_mask
from keras_transformers.layers.masks import positions_in_mask
from keras_transformers.models import build


def decoder(
    config: TransformerConfig, *, outputs: Iterable[str] = (), dtype: str | None = None, name: str = "decoder"
) -> keras.Model:
    """A decoder as a plain functional model, without a head: whole sequences, as in training.

    `prefill` and `step` make the twins for generation out of the same layers.
    Papers: GPT, Radford et al. 2018, https://openai.com/index/language-unsupervised; GPT-2, Radford et al. 2019.

    Args:
        config: Sizes and options.
        outputs: Optional outputs to add: `"attention_scores"` (the weights of every head), `"all_hidden_states"`
            (the embeddings and the output of every block).
        dtype: Name of a Keras dtype policy; the global one when None.
        name: Of the model.

    Returns:
        A functional model. Inputs: a dict of int32 (B, T) `token_ids` and `padding_mask`: 0 = padding, at the end of
        a row; other tokens see the earlier ones of the same number, and positions count from its first. So 1 for all
        tokens of a text, or 1, 1, 2, 2, 2, ... for several texts in one row that do not see each other.
        Outputs: a dict of `hidden_states` (B, T, D) and, on request, `attention_scores` (B, L, N, T, T) and
        `all_hidden_states` (B, L + 1, T, D) for L blocks.

    Raises:
        ValueError: An optional output is unknown.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> model = decoder(gpt2(vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=16))
    >>> ids = np.array([[2, 5, 3, 0]])
    >>> tuple(model({"token_ids": ids, "padding_mask": ids != 0})["hidden_states"].shape)
    (1, 4, 16)
    """
    outputs = build.check_outputs(outputs)
    layers = build.layers(config, "attention_scores" in outputs, dtype or keras.config.dtype_policy().name)
    inputs = build.token_inputs(config)
    places = PositionIds(name="position_ids")(inputs["token_ids"])
    attention_mask = combine(causal_mask(places, places), document_mask(inputs["padding_mask"]))
    positions = positions_in_mask(attention_mask)
    states, _, scores = _walk(config, layers, inputs["token_ids"], positions, positions, attention_mask)
    return keras.Model(inputs, build.named_outputs(outputs, states, scores), name=name)


def prefill(model: keras.Model) -> keras.Model:
    """The very nodes of a decoder, whose keys and values are outputs too: for the prompt.

    Args:
        model: Of `decoder`, or a model with heads made from one.

    Returns:
        A functional model of the same inputs. Outputs: `hidden_states` (B, T, D), and `cache`, for each block a dict
        of `key` and `value`, each (B, K, T, H).
    """
    blocks = _blocks(model)
    top = {layer.name: layer for layer in model.layers}.get("final_norm")
    hidden_states = top.output if top else blocks[-1].output[0]
    cache = [_cache(block) for block in blocks]
    inputs = {name: model.input[name] for name in ("token_ids", "padding_mask")}
    return keras.Model(inputs, {"hidden_states": hidden_states, "cache": cache}, name="prefill")


def step(config: TransformerConfig, model: keras.Model) -> keras.Model:
    """The twin of a decoder that takes a few new tokens and a cache, over the same layers.

    Args:
        config: Of the model.
        model: Of `decoder`, or a model with heads made from one.

    Returns:
        A functional model. Inputs: a dict of int32 (B, T) `token_ids` and `cache_positions`, the place of each token
        in its row, and `cache`, as `prefill` gives it, with room: each (B, K, S, H), S larger than any place.
        Outputs: `hidden_states` (B, T, D), and the new `cache`.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> config = gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> model, cache = decoder(config), [{"key": np.zeros((1, 2, 4, 8)), "value": np.zeros((1, 2, 4, 8))}]
    >>> first = {"token_ids": np.array([[7]]), "cache_positions": np.array([[0]]), "cache": cache}
    >>> tuple(step(config, model)(first)["hidden_states"].shape)
    (1, 1, 16)
    """
    layers = {layer.name: layer for layer in model.layers}
    token_ids, queries = (keras.Input((None,), dtype="int32", name=name) for name in ("token_ids", "cache_positions"))
    cache = []
    for index, block in enumerate(_blocks(model)):
        own = _cache(block).items()
        cache.append({part: keras.Input(x.shape[1:], dtype=x.dtype, name=f"{part}_{index}") for part, x in own})
    keys = PositionIds(axis=2, name="key_positions")(cache[0]["key"])
    states, cache_out, _ = _walk(config, layers, token_ids, queries, keys, causal_mask(queries, keys), cache)
    inputs = {"token_ids": token_ids, "cache_positions": queries, "cache": cache}
    return keras.Model(inputs, {"hidden_states": states[-1], "cache": cache_out}, name="step")


def _walk(
    config: TransformerConfig, layers: build.Layers, token_ids: Any, queries: Any, keys: Any, attention_mask: Any,
    cache: list[dict[str, Any]] | None = None,
) -> tuple[list, list, list]:  # fmt: skip
    """Through all layers: the hidden states, caches and attention weights of every block."""
    hidden_states = build.embed(layers, token_ids, positions=queries)
    inputs = {"attention_mask": attention_mask, **build.block_positions(config, layers, queries, keys)}
    states, caches, scores = [hidden_states], [], []
    for index in range(config.num_layers):
        cached = {} if cache is None else {"cache": cache[index], "cache_positions": queries}
        hidden_states, own, *weights = layers[f"decoder_block_{index}"](hidden_states, **inputs, **cached)
        states.append(hidden_states)
        caches.append(own)
        scores += weights
    if "final_norm" in layers:
        states[-1] = layers["final_norm"](hidden_states)
    return states, caches, scores


def _blocks(model: keras.Model) -> list[keras.layers.Layer]:
    return [layer for layer in model.layers if layer.name.startswith("decoder_block_")]


def _cache(block: keras.layers.Layer) -> dict[str, Any]:
    """The keys and values of a block's first call; Keras has flattened what it returned."""
    return dict(zip(("key", "value"), block.output[1:3], strict=True))
