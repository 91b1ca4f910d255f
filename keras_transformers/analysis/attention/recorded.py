"""Recordings of the attention layers of a model on a text: queries, keys, masks and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.analysis.residual.watched import Seen, Watched
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import Attention, padding_mask
from keras_transformers.layers.attention.projections import distance_vectors, keys, queries
from keras_transformers.layers.attention.scores import ScoreOptions, Visible, attention_weights, score_bias
from keras_transformers.models.decoder import whole
from keras_transformers.models.encoder import encode_source, walk
from keras_transformers.utils.tensor_types import Tensor

NEVER = np.float32(-np.inf)


class Recorded(NamedTuple):
    """A recording of one kind of attention on one text, in all layers.

    `weights[l, n, t, s]` is the softmax over s of `query[l, n, t] @ key[l, n, s] * scale + bias[l, n, t, s]` where
    `mask[l, t, s]`. With a soft cap, the product times the scale is capped before the bias.

    Args:
        query: (L, N, T, H), after the norms of heads and rotated, if the model has those.
        key: (L, N, S, H); keys that several heads share are repeated for each of them.
        scale: Factor of the products.
        bias: (L, N, T, S), or None.
        mask: Boolean (L, T, S), True = may attend.
        weights: (L, N, T, S).
        soft_cap: Bound of the scaled products, or None.
    """

    query: np.ndarray
    key: np.ndarray
    scale: float
    bias: np.ndarray | None
    mask: np.ndarray
    weights: np.ndarray
    soft_cap: float | None = None

    def scores(self) -> np.ndarray:
        """Return the scores before the softmax, (L, N, T, S); minus infinity where the mask is False."""
        scores = np.einsum("lnth,lnsh->lnts", self.query, self.key) * self.scale
        scores = scores if self.soft_cap is None else np.tanh(scores / self.soft_cap) * self.soft_cap
        scores = scores if self.bias is None else scores + self.bias
        return np.where(self.mask[:, None], scores, NEVER)


def record(config: TransformerConfig, model: keras.Model, inputs: Mapping[str, Any]) -> dict[str, Recorded]:
    """Run the forward pass of one text, block by block, and record each attention layer.

    The model need not have been loaded with `outputs=["attention_scores"]`. Memory grows with the square of the length.

    Args:
        config: The model's configuration.
        model: A model of `models`, with or without the head of a task.
        inputs: One row without padding: int32 (1, T) `token_ids`, `padding_mask`, and any other inputs of the model.

    Returns:
        `Recorded` by kind: `"self"`; for a model of two stacks `"encoder"`, `"self"` (the decoder's) and `"cross"`, or
        `"cross"` alone if its blocks have no self-attention.

    Raises:
        ValueError: No block of the model attends.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> config = bert(vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=16)
    >>> ids = np.array([[2, 5, 3]], "int32")
    >>> inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}
    >>> record(config, encoder(config), inputs)["self"].weights.shape
    (2, 2, 3, 3)
    """
    check_has_heads(config)
    inputs = {name: ops.convert_to_tensor(value) for name, value in inputs.items()}
    calls: dict[str, list[Recorded]] = {}
    layers = {layer.name: _observed(layer, calls, config.kind) for layer in model.layers}
    if config.kind == "encoder":
        mask = padding_mask(inputs["padding_mask"])  # (1, 1, T)
        walk(config, layers, inputs["token_ids"], mask, inputs.get("segment_ids"))
    else:
        encoder_inputs: dict[str, Tensor] = {}
        if config.kind == "encoder_decoder":
            *_, encoder_inputs = encode_source(config, layers, inputs)
        whole(config, layers, inputs, **encoder_inputs)
    return {kind: _stacked(found) for kind, found in calls.items()}


def has_heads(config: TransformerConfig) -> bool:
    """Return whether any block has attention, to the same text or to a source."""
    return config.mixer == "attention" or (config.kind == "encoder_decoder" and config.cross_attention)


def check_has_heads(config: TransformerConfig) -> None:
    """Raise a `ValueError` if no block of the model attends."""
    if not has_heads(config):
        raise ValueError(
            f"only attention has heads: received a model whose blocks have {config.mixer!r} in its place. "
            "Take one with mixer='attention'."
        )


def _observed(layer: keras.layers.Layer, calls: dict[str, list[Recorded]], kind: str) -> Any:
    """Return the layer; a block is wrapped, such that its attention layers are recorded in `calls`."""
    if "_block_" not in layer.name:
        return layer
    self_kind = "encoder" if layer.name.startswith("encoder") and kind != "encoder" else "self"

    def note(seen: Seen) -> None:
        if seen.part == "attention":
            mask = seen.inputs["attention_mask"]
            names = ("rotary", "position_bias", "relative_positions")
            found = _recorded(layer.attention, seen.read, seen.read, mask, *map(seen.inputs.get, names))
            calls.setdefault(self_kind, []).append(found)
        elif seen.part == "cross_attention":
            mask = seen.inputs["encoder_attention_mask"]
            found = _recorded(layer.cross_attention, seen.read, seen.inputs["context"], mask)
            calls.setdefault("cross", []).append(found)

    return Watched(layer, note)


def _recorded(
    attention: Attention, states: Any, context: Any, mask: Any, rotary: Any = None, position_bias: Any = None,
    relative_positions: Any = None,
) -> Recorded:  # fmt: skip
    scale = attention.score_scale(relative_positions)
    scaled = queries(attention, states, rotary, scale)  # (1, N, T, H)
    key = keys(attention, context, rotary)  # (1, K, S, H)
    distances = distance_vectors(attention, relative_positions)
    options = ScoreOptions(Visible(mask), position_bias, distances, attention.soft_cap)
    weights, bias = attention_weights(scaled, key, options), score_bias(scaled, key, options)  # (1, N, T, S) each
    key = ops.repeat(key, attention.num_heads // attention.num_kv_heads, axis=1)  # (1, N, S, H)
    mask = ops.broadcast_to(mask, (1, *weights.shape[2:]))  # (1, T, S)
    return Recorded(
        query=_array(scaled) / scale,
        key=_array(key),
        scale=float(scale),
        bias=None if bias is None else _array(bias),
        mask=_array(mask).astype(bool),
        weights=_array(weights),
        soft_cap=attention.soft_cap,
    )


def _array(x: Any) -> np.ndarray:
    return ops.convert_to_numpy(ops.cast(x, "float32"))[0]


def _stacked(calls: list[Recorded]) -> Recorded:
    columns = dict(zip(Recorded._fields, zip(*calls, strict=True), strict=True))
    bias = None if columns["bias"][0] is None else np.stack(columns["bias"])
    arrays = {name: np.stack(columns[name]) for name in ("query", "key", "mask", "weights")}
    return Recorded(**arrays, scale=columns["scale"][0], bias=bias, soft_cap=columns["soft_cap"][0])
