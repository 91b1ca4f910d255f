"""Weights of Keras' and keras_hub's layers in ours and back: equal numbers, or a refusal that names what differs."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy

from keras_transformers.layers import Attention, DecoderBlock, EncoderBlock, copy_weights

B, T, S, D = 2, 5, 7, 8
X, CONTEXT, KEY = normal(B, T, D), normal(B, S, 6, seed=1), normal(B, S, 4, seed=2)
HUB = {"activation": "relu", "epsilon": 1e-5, "norm_order": "post"}  # keras_hub's defaults in our words
MASK = np.arange(T) < np.array([[5], [3]])


def theirs_of_hub(name, intermediate_dim=16, num_heads=2, **options):
    import keras_hub

    return getattr(keras_hub.layers, name)(intermediate_dim, num_heads, **options)


def check_both_ways(theirs, ours, *inputs, **options):
    for layer in (theirs, ours):
        layer(*inputs)
    for source, target in ((theirs, ours), (ours, theirs)):
        randomize(source, seed=3 if source is theirs else 4)
        assert np.abs(to_numpy(theirs(*inputs)) - to_numpy(ours(*inputs))).max() > 1e-2
        copy_weights(source, target)
        found = to_numpy(ours(*inputs, **options)), to_numpy(theirs(*inputs, **options))
        np.testing.assert_allclose(*found, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("inputs", [(X, X), (X, CONTEXT), (X, CONTEXT, KEY)], ids=["self", "cross", "key"])
@pytest.mark.parametrize("options", [{}, {"value_dim": 3}, {"use_bias": False, "value_dim": 6}], ids=str)
def test_multi_head_attention(options, inputs):
    check_both_ways(keras.layers.MultiHeadAttention(2, 4, **options), Attention(2, 4, **options), *inputs)


@pytest.mark.integration
@pytest.mark.skipif(
    "sliding_window" not in keras.layers.MultiHeadAttention(1, 1).get_config(), reason="newer than this Keras"
)
def test_a_window():
    theirs, ours = keras.layers.MultiHeadAttention(2, 4, sliding_window=2), Attention(2, 4, window=(1, 1))
    theirs(X, X), ours(X)
    copy_weights(randomize(theirs), ours)
    np.testing.assert_allclose(to_numpy(ours(X)), to_numpy(theirs(X, X)), atol=1e-5)


@pytest.mark.parity
@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_blocks_of_keras_hub(kind, activation, normalize_first):
    options = HUB | {"activation": activation, "norm_order": "pre" if normalize_first else "post"}
    name = "TransformerEncoder" if kind == "encoder" else "TransformerDecoder"
    theirs = theirs_of_hub(name, activation=activation, normalize_first=normalize_first)
    if kind == "encoder":
        check_both_ways(theirs, EncoderBlock(2, 16, **options), X, padding_mask=MASK)
    else:
        inputs = (X, CONTEXT) if kind == "cross" else (X,)
        check_both_ways(theirs, DecoderBlock(2, 16, cross_attention=kind == "cross", **options), *inputs)


def refusal(theirs, ours, match):
    for layer in (theirs, ours):
        layer(X, X) if isinstance(layer, keras.layers.MultiHeadAttention) else layer(X)
    before = theirs.get_weights(), ours.get_weights()
    for pair in ((theirs, ours), (ours, theirs)):
        with pytest.raises(ValueError, match=match):
            copy_weights(*pair)
    for old, layer in zip(before, (theirs, ours), strict=True):
        assert all(np.array_equal(*arrays) for arrays in zip(old, layer.get_weights(), strict=True))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("theirs", "ours", "match"),
    [
        ({}, {"num_heads": 4}, "num_heads 2 and 4"),
        ({}, {"num_kv_heads": 1}, "num_kv_heads 2 and 1"),
        ({}, {"head_dim": 3}, "head_dim 4 and 3"),
        ({"value_dim": 3}, {}, "value_dim 3 and 4"),
        ({}, {"value_dim": 3}, "value_dim 4 and 3"),
        ({}, {"scale": 1.0}, r"scale 0\.5 and 1\.0"),
        ({}, {"window": (1, 0)}, r"window \(None, None\) and \(1, 0\)"),
        ({}, {"use_bias": False}, "use_bias True and False"),
        ({"use_bias": False}, {}, "use_bias False and True"),
        ({"output_shape": 5}, {}, r"output_shape \(5,\) and \(8,\)"),
    ],
)
def test_options_of_attention_that_differ(theirs, ours, match):
    refusal(keras.layers.MultiHeadAttention(2, 4, **theirs), Attention(**{"num_heads": 2, **ours}), match)


@pytest.mark.parity
@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"num_heads": 4}, "num_heads 2 and 4"),
        ({"intermediate_dim": 8}, "intermediate_dim 16 and 8"),
        ({"activation": "gelu"}, "activation 'relu' and 'gelu'"),
        ({"activation": "gelu_tanh"}, "activation 'relu' and 'gelu_tanh'"),
        ({"epsilon": 1e-12}, "epsilon 1e-05 and 1e-12"),
        ({"norm_order": "pre"}, "norm_order 'post' and 'pre'"),
        ({"norm_order": "sandwich"}, "norm_order 'post' and 'sandwich'"),
        ({"norm": "rms"}, "norm 'LayerNormalization' and 'RMSNormalization'"),
        ({"norm_bias": False}, "norm_bias True and False"),
        ({"attention_norm": False}, "attention_norm 'LayerNormalization' and 'none'"),
        ({"gated": True}, "gated False and True"),
        ({"use_bias": False}, "use_bias True and False"),
        ({"intermediate_bias": False}, "use_bias True and False"),
        ({"window": (1, 1)}, r"window \(None, None\) and \(1, 1\)"),
    ],
)
def test_options_of_blocks_that_differ(options, match):
    ours = EncoderBlock(**{"num_heads": 2, "intermediate_dim": 16, **HUB, **options})
    refusal(theirs_of_hub("TransformerEncoder"), ours, match)


@pytest.mark.parity
def test_cross_attention_in_one_of_them():
    theirs, ours = theirs_of_hub("TransformerDecoder"), DecoderBlock(2, 16, cross_attention=True, **HUB)
    theirs(X), ours(X, CONTEXT)
    with pytest.raises(ValueError, match="cross_attention 'none' and 'Attention'"):
        copy_weights(theirs, ours)


@pytest.mark.integration
def test_layers_that_are_no_pair():
    theirs, ours = keras.layers.MultiHeadAttention(2, 4), Attention(2)
    ours(X)
    with pytest.raises(ValueError, match=rf"{theirs.name} has no weights yet"):
        copy_weights(theirs, ours)
    with pytest.raises(ValueError, match=r"received a Attention and a Attention.*set_weights"):
        copy_weights(ours, ours)
    dense = keras.layers.Dense(8)
    dense(X)
    with pytest.raises(ValueError, match=r"Attention pairs with keras\.layers\.MultiHeadAttention: received a Dense"):
        copy_weights(dense, ours)
    theirs(X, CONTEXT)
    with pytest.raises(ValueError, match="built for inputs of other widths"):
        copy_weights(theirs, ours)


@pytest.mark.integration
def test_half_precision():
    theirs, ours = keras.layers.MultiHeadAttention(2, 4), Attention(2, dtype="mixed_bfloat16")
    theirs(X, X), ours(X)
    copy_weights(randomize(theirs), ours)
    np.testing.assert_array_equal(to_numpy(ours.query.kernel), to_numpy(theirs.query_dense.kernel).reshape(D, 8))
