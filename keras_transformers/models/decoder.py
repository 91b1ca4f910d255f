"""Decoders, in which a token attends to itself and earlier ones, and models over their layers for generation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import keras

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import DocumentLengths, DocumentPositions, PositionIds, padding_mask
from keras_transformers.layers.attention.cache import part_dtype
from keras_transformers.layers.positions.cache_places import CachePlaces
from keras_transformers.models import build
from keras_transformers.models.block_inputs import block_inputs
from keras_transformers.models.block_layers import cache_shapes
from keras_transformers.models.encoder import encode_source
from keras_transformers.utils.tensor_types import Tensor


def decoder(
    config: TransformerConfig, *, outputs: Iterable[str] = (), dtype: str | None = None, name: str = "decoder"
) -> keras.Model:
    """Build a decoder as a functional model without a head: whole sequences, as in training.

    `prefill` and `step` build the models for generation over the same layers.
    Papers: GPT, Radford et al. 2018, https://openai.com/index/language-unsupervised; GPT-2, Radford et al. 2019.

    Args:
        config: Sizes and options.
        outputs: Optional outputs to add: `"attention_scores"` (the weights of every head), `"all_hidden_states"`
            (the embeddings and the output of every block).
        dtype: Name of a Keras dtype policy; the global one when None.
        name: Name of the model.

    Returns:
        A functional model. Inputs: a dict of int32 (B, T) `token_ids` and `padding_mask`: 0 = padding, at the end of
        a row. Tokens with the same number are one text: they see earlier tokens of that text only, and positions count
        from its first. So 1 for all tokens of a single text, or 1, 1, 2, 2, 2, ... for several texts in one row, one
        after the other.
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
    outputs = build.check_outputs(outputs, config)
    layers = build.layers(config, outputs, dtype or keras.config.dtype_policy().name)
    inputs = build.token_inputs(config)
    states, _, scores = whole(config, layers, inputs)
    return keras.Model(inputs, build.named_outputs(outputs, states, scores), name=name)


def prefill(config: TransformerConfig, model: keras.Model, outputs: Iterable[str] = ()) -> keras.Model:
    """Build the model that reads whole prompts and returns the cache for `step`, over a decoder's layers.

    Args:
        config: Configuration of the model.
        model: Model made by `decoder` or `encoder_decoder`, or a model with heads made from one.
        outputs: `"cross_attention_scores"` adds the scores of an encoder-decoder's cross-attention.

    Returns:
        A functional model. Inputs: as for the model without its heads, and int32 (B, 1) `text_lengths`, the tokens that
        each row will have in the end, if the scale of rotary positions depends on it. Outputs: `hidden_states`
        (B, T, D), and `cache`, a dict for each block: `key` and `value`, each (B, K, T, H), with an encoder also
        `cross_key` and `cross_value`, each (B, K, S, H); of a block with a state the state after the last real token;
        on request `cross_attention_scores` (B, L, N, T, S).

    Example:

    >>> from keras_transformers.families import gpt2
    >>> config = gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> prompt = {"token_ids": np.array([[7, 3, 5]]), "padding_mask": np.array([[1, 1, 1]])}
    >>> tuple(prefill(config, decoder(config))(prompt)["cache"][0]["key"].shape)
    (1, 2, 3, 8)
    """
    outputs = build.check_outputs(outputs, config)
    layers, inputs = _layers_of(model), build.token_inputs(config)
    encoder_inputs: dict[str, Tensor] = {}
    if config.kind == "encoder_decoder":
        *_, encoder_inputs = encode_source(config, layers, inputs)
    inputs |= _length_input(config)
    states, cache, scores = whole(config, layers, inputs, **encoder_inputs)
    return keras.Model(inputs, build.named_outputs(outputs, states, scores) | {"cache": cache}, name="prefill")


def step(
    config: TransformerConfig, model: keras.Model, outputs: Iterable[str] = (), in_place: bool = False,
    padded: bool = False,
) -> keras.Model:  # fmt: skip
    """Build the model that takes a few new tokens and a cache, over a decoder's layers.

    Args:
        config: Configuration of the model.
        model: Model made by `decoder` or `encoder_decoder`, or a model with heads made from one.
        outputs: `"cross_attention_scores"` adds the scores of an encoder-decoder's cross-attention.
        in_place: Whether the given cache may be overwritten, as in `layers.Attention`.
        padded: Whether the model takes an int32 (B, T) `padding_mask` of the new tokens, 0 for padding at the end of a
            row: it changes no state. Keys and values of padding are written, and overwritten by later tokens.

    Returns:
        A functional model. Inputs: a dict of int32 (B, T) `token_ids` and `cache_positions`, the index of each token in
        its row, and `cache`, as `prefill` returns it, padded to (B, K, S, H) with S larger than any index; keys and
        values of an encoder and states unchanged, and its `encoder_padding_mask`. For a block of `ring_windows` with a
        window of W tokens, S need not be larger than W + T - 1: index i is at place i modulo S. A state holds all
        tokens before the first new one, which may not be read twice. An encoder's row may serve several successive
        rows of tokens. `text_lengths` as for `prefill`.
        Outputs: `hidden_states` (B, T, D), the new `cache`, and on request `cross_attention_scores`.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> config = gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> model, cache = decoder(config), [{"key": np.zeros((1, 2, 4, 8)), "value": np.zeros((1, 2, 4, 8))}]
    >>> first = {"token_ids": np.array([[7]]), "cache_positions": np.array([[0]]), "cache": cache}
    >>> tuple(step(config, model)(first)["hidden_states"].shape)
    (1, 1, 16)
    """
    outputs, two_stacks = build.check_outputs(outputs, config), config.kind == "encoder_decoder"
    layers = build.stack(_layers_of(model), "decoder")
    names = ["token_ids", "cache_positions"]
    names += ["encoder_padding_mask"] * two_stacks + ["padding_mask"] * padded
    inputs: dict[str, Tensor] = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    inputs |= _length_input(config)
    cache = _cache_inputs(config, layers)

    queries, windows = inputs["cache_positions"], ring_windows(config)  # (B, T)
    keys_of = {window: block["key"] for window, block in zip(windows, cache, strict=True) if "key" in block}
    whole_keys = keys_of.pop(None, None)
    keys = None if whole_keys is None else PositionIds(axis=2, name="key_positions")(whole_keys)  # (1, S)
    rings = {window: CachePlaces(name=f"cache_places_{window}")(queries, part) for window, part in keys_of.items()}
    encoder_inputs: dict[str, Tensor] = {}
    if two_stacks:
        encoder_inputs["encoder_attention_mask"] = padding_mask(inputs["encoder_padding_mask"])  # (B, 1, S')

    real, lengths = inputs.get("padding_mask"), inputs.get("text_lengths")
    states, new_cache, scores = walk(
        config, layers, inputs["token_ids"], queries, keys, real, cache, in_place, lengths, rings, **encoder_inputs
    )
    named = build.named_outputs(outputs, states, scores) | {"cache": new_cache}
    return keras.Model(inputs | {"cache": cache}, named, name="step")


def whole(
    config: TransformerConfig, layers: build.Layers, inputs: Mapping[str, Tensor], **encoder_inputs: Tensor
) -> tuple[list, list, dict[str, list]]:
    """Pass whole sequences through all layers of a decoder.

    Args:
        config: Sizes and options.
        layers: All layers of the model, by name.
        inputs: `token_ids` and `padding_mask`, each int32 (B, T), as in `decoder`, and perhaps `text_lengths`, as in
            `prefill`; the lengths of the texts themselves without.
        **encoder_inputs: As for `walk`.

    Returns:
        As `walk`.
    """
    documents = inputs["padding_mask"]
    positions = DocumentPositions(name="position_ids")(documents)  # (B, T)
    lengths = inputs.get("text_lengths")
    if lengths is None and _length_input(config):
        lengths = DocumentLengths(name="text_lengths")(documents)  # (B, T)
    return walk(
        config, build.stack(layers, "decoder"), inputs["token_ids"], positions, positions, documents,
        text_lengths=lengths, **encoder_inputs,
    )  # fmt: skip


def walk(
    config: TransformerConfig, layers: build.Layers, token_ids: Tensor, queries: Tensor, keys: Tensor | None,
    documents: Tensor | None = None, cache: list[dict[str, Tensor]] | None = None, in_place: bool = False,
    text_lengths: Tensor | None = None, rings: Mapping[int | None, tuple[Tensor, Tensor]] | None = None,
    **encoder_inputs: Tensor,
) -> tuple[list, list, dict[str, list]]:  # fmt: skip
    """Pass token ids through all layers of a decoder.

    Args:
        config: Sizes and options.
        layers: Layers of the decoder, by name.
        token_ids: int32 (B, T).
        queries, keys: int32 (1|B, T) and (1|B, S), positions of the tokens and of all tokens that they may attend to;
            no keys where the caches of all blocks are rings.
        documents: Integer (B, T), the text of each token, as in `document_mask`; with a cache, which tokens are real.
        cache: The cache of every block.
        in_place: As in `step`.
        text_lengths: As in `block_inputs`.
        rings: Places and positions, as of `CachePlaces`, of the caches that are rings, by the window of their blocks.
        **encoder_inputs: `context` and `encoder_attention_mask`, as blocks take them.

    Returns:
        The hidden states, (B, T, D) each: the embeddings and the output of every block, the last one after the norm;
        the cache of every block; the attention weights of every block by name, (B, N, T, S) each.
    """
    hidden_states = build.embed(layers, token_ids, positions=queries)  # (B, T, D)
    rings = rings or {}
    given: dict[str, Any] = {"documents": documents, "is_cached": cache is not None, "text_lengths": text_lengths}
    given["ring_keys"] = {window: held for window, (_, held) in rings.items()}
    inputs = block_inputs(config, layers, "decoder", queries, keys, **given)

    scores: dict[str, list] = {"attention_scores": [], "cross_attention_scores": []}
    scored = list(scores)[0 if config.mixer == "attention" else 1 :]
    states, new_cache = [hidden_states], []
    for index, block_input in enumerate(inputs):
        places, _ = rings.get(config.block(index, "decoder").attention_window, (queries, keys))  # (B, T)
        cached = {"cache": cache[index], "cache_positions": places, "in_place": in_place} if cache else {}
        hidden_states, block_cache, *weights = layers[f"decoder_block_{index}"](
            hidden_states, **block_input, **encoder_inputs, **cached
        )  # (B, T, D), (B, K, S, H), (B, N, T, S)
        states.append(hidden_states)
        new_cache.append(block_cache)
        for name, tensor in zip(scored, weights, strict=False):  # none, of self-attention, of cross-attention too
            scores[name].append(tensor)

    states[-1] = build.finish(layers, hidden_states)  # (B, T, D)
    return states, new_cache, scores


def ring_windows(config: TransformerConfig) -> list[int | None]:
    """Return the window of each block of a decoder whose cache may be a ring, of tokens in sight; None for the others.

    Biases of positions are of all places in their order: blocks that have one keep all tokens.

    Example:

    >>> from keras_transformers.families import mistral
    >>> blocks = [{"attention_window": 4}, {}]
    >>> ring_windows(mistral(100, 3, 2, 16, 32, num_kv_heads=1, block_options=blocks))
    [4, None, 4]
    """
    indices = range(config.num_blocks("decoder"))
    if config.mixer != "attention" or not {"alibi", "relative", "disentangled"}.isdisjoint(config.position_kinds):
        return [None for _ in indices]
    return [config.block(index, "decoder").attention_window for index in indices]


def goes_by_length(config: TransformerConfig) -> bool:
    """Return whether the scale of a block's positions depends on the length of each text."""
    scalings = (config.block(index, "decoder").rotary_scaling for index in range(config.num_blocks("decoder")))
    return any(scaling is not None and scaling.by_length for scaling in scalings)


def _length_input(config: TransformerConfig) -> dict[str, Tensor]:
    """Return the input of the lengths of texts, if the scale of a block's positions depends on them."""
    if not goes_by_length(config):
        return {}
    return {"text_lengths": keras.Input((1,), dtype="int32", name="text_lengths")}


def _layers_of(model: keras.Model) -> dict[str, keras.layers.Layer]:
    return {layer.name: layer for layer in model.layers}


def _cache_inputs(config: TransformerConfig, layers: build.Layers) -> list[dict[str, Tensor]]:
    """Return the inputs for the cache of each block, each (B, K, S, H) or a state."""
    blocks = [layers[f"decoder_block_{index}"] for index in range(config.num_blocks("decoder"))]
    return [
        {
            part: keras.Input(shape, dtype=part_dtype(part, layer.compute_dtype), name=f"{part}_{index}")
            for part, shape in cache_shapes(config, layer).items()
        }
        for index, layer in enumerate(blocks)
    ]
