"""Decoders: every token attends to itself and to those before it; and their twins that generate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from keras_transformers.config import TransformerConfig
from keras_transformers.layers import PositionIds, causal_mask, combine, document_mask, padding_mask
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
    outputs = build.check_outputs(outputs, "decoder")
    layers = build.layers(config, outputs, dtype or keras.config.dtype_policy().name)
    inputs = build.token_inputs(config)
    states, scores = whole(config, layers, inputs["token_ids"], inputs["padding_mask"])
    return keras.Model(inputs, build.named_outputs(outputs, states, scores), name=name)


def whole(
    config: TransformerConfig, layers: build.Layers, token_ids: Any, padding_mask: Any, **encoder: Any
) -> tuple[list, dict[str, list]]:
    """Whole sequences through all layers of a decoder: see `walk`."""
    places = PositionIds(name="position_ids")(token_ids)
    attention_mask = combine(causal_mask(places, places), document_mask(padding_mask))
    positions = positions_in_mask(attention_mask)
    states, _, scores = walk(config, layers, token_ids, positions, positions, attention_mask, **encoder)
    return states, scores


def prefill(model: keras.Model, outputs: Iterable[str] = ()) -> keras.Model:
    """The very nodes of a decoder, whose keys and values are outputs too: for the prompt.

    Args:
        model: Of `decoder` or `encoder_decoder`, or a model with heads made from one.
        outputs: `"cross_attention_scores"` adds those of a model of two stacks.

    Returns:
        A functional model of the same inputs. Outputs: `hidden_states` (B, T, D), and `cache`, for each block a dict
        of `key` and `value`, each (B, K, T, H), beside an encoder also of `cross_key` and `cross_value`, each
        (B, K, S, H); on request `cross_attention_scores` (B, L, N, T, S).
    """
    layers, blocks = build.stack({layer.name: layer for layer in model.layers}, "decoder"), _blocks(model)
    top = layers.get("final_dropout") or layers.get("final_norm")
    found = {
        "hidden_states": top.output if top else blocks[-1].output[0],
        "cache": [_cache(block) for block in blocks],
    }
    if "cross_attention_scores" in outputs:
        found["cross_attention_scores"] = ops.stack([block.output[-1] for block in blocks], axis=1)
    names = ("token_ids", "padding_mask", "encoder_token_ids", "encoder_padding_mask")
    inputs = {name: model.input[name] for name in names if name in model.input}
    return keras.Model(inputs, found, name="prefill")


def step(
    config: TransformerConfig, model: keras.Model, outputs: Iterable[str] = (), in_place: bool = False
) -> keras.Model:
    """The twin of a decoder that takes a few new tokens and a cache, over the same layers.

    Args:
        config: Of the model.
        model: Of `decoder` or `encoder_decoder`, or a model with heads made from one.
        outputs: `"cross_attention_scores"` adds those of a model of two stacks.
        in_place: Whether the cache that it is called with may be overwritten, as `layers.Attention` says.

    Returns:
        A functional model. Inputs: a dict of int32 (B, T) `token_ids` and `cache_positions`, the place of each token
        in its row, and `cache`, as `prefill` gives it, with room: each (B, K, S, H), S larger than any place; keys and
        values of an encoder as they are, and its `encoder_padding_mask`, one row for as many rows of tokens that stand
        together.
        Outputs: `hidden_states` (B, T, D), the new `cache`, and on request `cross_attention_scores`.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> config = gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> model, cache = decoder(config), [{"key": np.zeros((1, 2, 4, 8)), "value": np.zeros((1, 2, 4, 8))}]
    >>> first = {"token_ids": np.array([[7]]), "cache_positions": np.array([[0]]), "cache": cache}
    >>> tuple(step(config, model)(first)["hidden_states"].shape)
    (1, 1, 16)
    """
    layers = build.stack({layer.name: layer for layer in model.layers}, "decoder")
    names = ("token_ids", "cache_positions", *(["encoder_padding_mask"] if config.kind == "encoder_decoder" else []))
    inputs: dict[str, Any] = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    cache = []
    for index, block in enumerate(_blocks(model)):
        own = _cache(block).items()
        cache.append({part: keras.Input(x.shape[1:], dtype=x.dtype, name=f"{part}_{index}") for part, x in own})
    queries, keys = inputs["cache_positions"], PositionIds(axis=2, name="key_positions")(cache[0]["key"])
    encoder = {}
    if "encoder_padding_mask" in inputs:
        encoder["encoder_attention_mask"] = padding_mask(inputs["encoder_padding_mask"])
    attention_mask = causal_mask(queries, keys)
    states, cache_out, scores = walk(
        config, layers, inputs["token_ids"], queries, keys, attention_mask, cache, in_place, **encoder
    )
    found = build.named_outputs(outputs, states, scores) | {"cache": cache_out}
    return keras.Model(inputs | {"cache": cache}, found, name="step")


def walk(
    config: TransformerConfig, layers: build.Layers, token_ids: Any, queries: Any, keys: Any, attention_mask: Any,
    cache: list[dict[str, Any]] | None = None, in_place: bool = False, **encoder: Any,
) -> tuple[list, list, dict[str, list]]:  # fmt: skip
    """Through all layers of a decoder: the hidden states, caches and, by name, attention weights of every block.

    Args:
        config: Sizes and options.
        layers: By name.
        token_ids: int32 (B, T).
        queries, keys: int32 (1|B, T) and (1|B, S), positions of the tokens and of all that they may attend to.
        attention_mask: Boolean (B, T, S).
        cache: Of every block.
        in_place: As `step` says.
        **encoder: `encoder_hidden_states` and `encoder_attention_mask`, as blocks take them.
    """
    hidden_states = build.embed(layers, token_ids, positions=queries)
    inputs = {"attention_mask": attention_mask, **build.block_positions(config, layers, queries, keys), **encoder}
    states, caches, scores = [hidden_states], [], {"attention_scores": [], "cross_attention_scores": []}
    for index in range(build.num_blocks(config, "decoder")):
        cached = {"cache": cache[index], "cache_positions": queries, "in_place": in_place} if cache else {}
        hidden_states, own, *weights = layers[f"decoder_block_{index}"](hidden_states, **inputs, **cached)
        states.append(hidden_states)
        caches.append(own)
        for name, tensor in zip(scores, weights, strict=False):  # none, those of the text, those of the encoder too
            scores[name].append(tensor)
    states[-1] = build.finish(layers, hidden_states)
    return states, caches, scores


def _blocks(model: keras.Model) -> list[keras.layers.Layer]:
    return [layer for layer in model.layers if layer.name.startswith("decoder_block_")]


def _cache(block: keras.layers.Layer) -> dict[str, Any]:
    """The keys and values of a block's first call; Keras has flattened what it returned, by the order of the names."""
    names = ("key", "value") if block.cross_attention is None else ("cross_key", "cross_value", "key", "value")
    return dict(zip(names, block.output[1 : 1 + len(names)], strict=True))
