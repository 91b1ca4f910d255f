"""Models of people who use Keras, with a layer of Keras or keras_hub in them or ours in its place.

Each has the structure of an example of keras.io, and is built from the calls of the layers that change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.layers import Attention, DecoderBlock, EncoderBlock

VOCABULARY, WIDTH, HEADS, INNER, CLASSES = 20, 8, 2, 12, 3


def their_attention(**options) -> keras.layers.Layer:
    return keras.layers.MultiHeadAttention(HEADS, **{"key_dim": WIDTH // HEADS, **options})


def our_attention(key_dim: int = WIDTH // HEADS, value_dim: int | None = None, **options) -> Attention:
    return Attention(HEADS, head_dim=key_dim, **options)


def their_encoder(**options) -> keras.layers.Layer:
    from keras_hub.layers import TransformerEncoder

    return TransformerEncoder(INNER, HEADS, **options)


def our_encoder(normalize_first: bool = False, activation: str = "relu", **options) -> EncoderBlock:
    order = "pre" if normalize_first else "post"
    return EncoderBlock(HEADS, INNER, norm_order=order, activation=activation, epsilon=1e-5, **options)


def their_decoder(**options) -> keras.layers.Layer:
    from keras_hub.layers import TransformerDecoder

    return TransformerDecoder(INNER, HEADS, **options)


def our_decoder(normalize_first: bool = False, cross_attention: bool = False) -> DecoderBlock:
    order = "pre" if normalize_first else "post"
    options = {"norm_order": order, "activation": "relu", "epsilon": 1e-5, "cross_attention": cross_attention}
    return DecoderBlock(HEADS, INNER, **options)


def carry(theirs: keras.layers.Layer, ours: keras.layers.Layer) -> None:
    """Give ours, a layer or a functional model with such layers, the weights of what it stands in the place of."""
    if isinstance(theirs, keras.Model):
        for pair in zip(theirs.layers, ours.layers, strict=True):
            carry(*pair)
        return
    for value, weight in zip(theirs.get_weights(), _in_their_order(ours), strict=True):
        weight.assign(value.reshape(weight.shape))


def _in_their_order(layer: keras.layers.Layer) -> list[keras.Variable]:
    """Return the weights of a layer, those of a block in the order of keras_hub's."""
    parts = [layer]
    if isinstance(layer, EncoderBlock):
        parts = [layer.attention, layer.attention_norm, layer.feed_forward_norm, layer.feed_forward]
    if isinstance(layer, DecoderBlock):
        parts = [layer.attention, layer.attention_norm, layer.cross_attention, layer.cross_attention_norm]
        parts += [layer.feed_forward, layer.feed_forward_norm]
    return [weight for part in parts if part is not None for weight in part.weights]


def token_ids(batch: int, length: int, seed: int = 0, padded: bool = True) -> np.ndarray:
    """Random ids (B, T), from the second row on with zeros behind some of them."""
    random = np.random.default_rng(seed)
    lengths = np.concatenate([[length], random.integers(1, length + 1, batch - 1)])
    ids = random.integers(1, VOCABULARY, (batch, length))
    return np.where(np.arange(length) < lengths[:, None], ids, 0) if padded else ids


class Places(keras.layers.Layer):
    """Adds a learned vector for each place."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.places = keras.layers.Embedding(100, WIDTH)

    def build(self, shape):
        self.places.build()

    def call(self, x):
        return x + self.places(ops.arange(ops.shape(x)[1]))


class OwnBlock(keras.layers.Layer):
    """A subclass of a user, around the attention that it is given."""

    def __init__(self, attention: keras.layers.Layer, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.attention = attention
        self.inner, self.outer = keras.layers.Dense(INNER, "relu"), keras.layers.Dense(WIDTH)
        self.norms = [keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]

    def build(self, shape):
        self.attention.build(shape, shape)
        self.inner.build(shape)
        self.outer.build((*shape[:-1], INNER))
        for norm in self.norms:
            norm.build(shape)

    def call(self, x):
        x = self.norms[0](x + self.attention(x, x))
        return self.norms[1](x + self.outer(self.inner(x)))


def embedded(ids: Any, mask_zero: bool) -> Any:
    return Places()(keras.layers.Embedding(VOCABULARY, WIDTH, mask_zero=mask_zero)(ids))


def text_classifier(block: Callable, mask_zero: bool = True) -> keras.Model:
    """`block(x, padding_mask)` gives (B, T, D), or that and weights; the mask is None where the embedding has one."""
    ids = keras.Input((None,), dtype="int32")
    x = embedded(ids, mask_zero)
    outputs = block(x, None if mask_zero else ops.not_equal(ids, 0))
    x, *scores = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(ids, [keras.layers.Dense(CLASSES, "softmax")(x), *scores])


def translator(encode: Callable, decode: Callable, mask_zero: bool = True) -> keras.Model:
    """`encode(x, padding_mask)`, `decode(x, padding_mask, context, context_padding_mask)`."""
    source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
    masks = [None if mask_zero else ops.not_equal(ids, 0) for ids in (source, target)]
    context = encode(embedded(source, mask_zero), masks[0])
    x = decode(embedded(target, mask_zero), masks[1], context, masks[0])
    return keras.Model([source, target], keras.layers.Dense(VOCABULARY)(x))


def image_classifier(attention: Callable[[], keras.layers.Layer]) -> keras.Model:
    """Pre-norm blocks over patches of 4 x 4."""
    images = keras.Input((None, None, 3))
    x = keras.layers.Conv2D(WIDTH, 4, strides=4)(images)
    x = Places()(keras.layers.Reshape((-1, WIDTH))(x))
    for _ in range(2):
        normed = keras.layers.LayerNormalization(epsilon=1e-6)(x)
        x = keras.layers.Add()([x, attention()(normed, normed)])
        normed = keras.layers.LayerNormalization(epsilon=1e-6)(x)
        inner = keras.layers.Dense(INNER, "gelu")(normed)
        x = keras.layers.Add()([x, keras.layers.Dense(WIDTH)(inner)])
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.LayerNormalization(epsilon=1e-6)(x))
    return keras.Model(images, keras.layers.Dense(CLASSES)(x))


def series_classifier(attention: Callable[[], keras.layers.Layer], channels: int = 3) -> keras.Model:
    """Attention wider than the series, then convolutions of one step."""
    series = x = keras.Input((None, channels))
    for _ in range(2):
        attended = keras.layers.Dropout(0.1)(attention()(x, x))
        x = keras.layers.Add()([x, attended])
        inner = keras.layers.Conv1D(INNER, 1, activation="relu")(keras.layers.LayerNormalization(epsilon=1e-6)(x))
        x = keras.layers.Add()([x, keras.layers.Conv1D(channels, 1)(inner)])
    x = keras.layers.GlobalAveragePooling1D(data_format="channels_last")(x)
    return keras.Model(series, keras.layers.Dense(CLASSES, "softmax")(x))
