"""Arguments that pass through blocks, and those that Keras does not save by itself."""

from __future__ import annotations

import inspect
import json

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from keras import ops
from layer_checks import functional

from keras_transformers.layers import (
    Attention,
    Convolution,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LearnedPositions,
    MixerDecoderBlock,
    MixerEncoderBlock,
    Recurrence,
    RelativePositionBias,
    TokenEmbedding,
)
from keras_transformers.layers.interface.layer_options import DENSE_OPTIONS, fresh, option_names, share_out

B, T, D, N = 2, 4, 8, 2
STATES = {"hidden_states": normal(B, T, D)}
POSITIONS = {"query_positions": np.arange(T)[None], "key_positions": np.arange(T)[None]}
DENSE = {
    "attention": (lambda **options: Attention(N, **options), STATES, 4),
    "feed-forward": (lambda **options: FeedForward(16, gated=True, **options), STATES, 3),
    "encoder block": (lambda **options: EncoderBlock(N, 16, **options), STATES, 6),
    "decoder block": (lambda **options: DecoderBlock(N, 16, **options), STATES, 6),
    "recurrence": (lambda **options: Recurrence("gru", 6, **options), STATES, 2),
    "convolution": (lambda **options: Convolution(6, **options), STATES, 2),
    "mixer encoder block": (lambda **options: MixerEncoderBlock("lstm", 6, bidirectional=False, **options), STATES, 2),
    "mixer decoder block": (
        lambda **options: MixerDecoderBlock("lstm", 6, encoder="attention", num_heads=N, **options),
        STATES | {"context": normal(B, 3, 5)},
        6,
    ),
}
TABLES = {
    "token embedding": (
        lambda **options: TokenEmbedding(9, D, num_segments=2, **options),
        {"inputs": np.ones((B, T), int)},
        2,
    ),
    "learned positions": (lambda **options: LearnedPositions(9, **options), STATES, 1),
    "relative positions": (lambda **options: RelativePositionBias(N, **options), POSITIONS, 1),
}


@keras.saving.register_keras_serializable("tests")
def doubled(x):
    return 2 * x


def names_of(weights, *ends: str) -> list:
    return [weight for weight in weights if weight.path.endswith(ends)]


@pytest.mark.integration(quick=["convolution", "feed-forward"])
@pytest.mark.parametrize("name", DENSE)
def test_options_of_dense_layers(name, tmp_path):
    """Each layer gets them, with draws of its own, and a file keeps them."""
    make, inputs, kernels = DENSE[name]
    options = {
        "kernel_initializer": keras.initializers.RandomNormal(mean=3.0, stddev=0.1),
        "bias_initializer": "ones",
        "kernel_regularizer": keras.regularizers.L2(0.5),
        "bias_constraint": keras.constraints.NonNeg(),
    }
    layer = make(**options)
    model = functional(layer, inputs)
    found = names_of(layer.weights, "/kernel")
    assert len(found) == kernels
    assert all(float(np.mean(to_numpy(weight))) == pytest.approx(3, abs=0.2) for weight in found)
    assert len({to_numpy(weight).ravel()[0] for weight in found}) == kernels
    assert len(layer.losses) == kernels
    biases = names_of(layer.weights, "query/bias", "intermediate/bias", "output/bias", "convolve/bias")
    assert all((to_numpy(weight) == 1).all() and weight.constraint is not None for weight in biases)

    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    twin = loaded.layers[-1]
    assert json.dumps(twin.get_config()) == json.dumps(layer.get_config()) and twin.name == layer.name
    assert len(twin.losses) == kernels
    first = [keras.tree.flatten(to_numpy(either(inputs)))[0] for either in (model, loaded)]
    np.testing.assert_array_equal(*first)


@pytest.mark.parametrize("name", TABLES)
def test_options_of_tables(name, tmp_path):
    make, inputs, tables = TABLES[name]
    options = {"embeddings_initializer": keras.initializers.Constant(2.0), "embeddings_regularizer": "l1"}
    layer = make(**options, embeddings_constraint=keras.constraints.UnitNorm())
    model = functional(layer, inputs)
    assert len(layer.weights) == tables and all((to_numpy(weight) == 2).all() for weight in layer.weights)
    assert len(layer.losses) == tables and all(weight.constraint is not None for weight in layer.weights)
    model.save(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras").layers[-1].get_config() == layer.get_config()


@pytest.mark.integration(
    quick=[
        "block-layer",
        "block-name",
        "block-relu",
        "feed-forward-layer",
        "feed-forward-name",
        "feed-forward-own",
        "feed-forward-relu",
    ]
)
@pytest.mark.parametrize(
    "activation",
    [doubled, keras.activations.relu, keras.layers.LeakyReLU(0.3), "silu"],
    ids=["own", "relu", "layer", "name"],
)
@pytest.mark.parametrize(
    "make", [FeedForward, lambda *sizes, **options: EncoderBlock(N, *sizes, **options)], ids=["feed-forward", "block"]
)
def test_functions_of_activation_come_back_from_a_file(make, activation, tmp_path):
    model = functional(make(16, activation=activation), STATES)
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        to_numpy(keras.saving.load_model(tmp_path / "model.keras")(STATES)), to_numpy(model(STATES))
    )


def test_a_function_without_a_name_cannot_be_saved():
    """As Keras has it; it works all the same."""
    layer = FeedForward(16, activation=lambda x: 2 * x)
    assert layer(normal(B, T, D)).shape == (B, T, D)
    with pytest.raises(NotImplementedError, match="non-serializable argument"):
        layer.get_config()


def test_dtype_policies_and_numbers_of_numpy(tmp_path):
    layer = EncoderBlock(np.int64(N), 16, dropout=np.float32(0.5), dtype=keras.DTypePolicy("mixed_bfloat16"))
    config = layer.get_config()
    assert (config["num_heads"], config["dropout"]) == (N, 0.5)
    assert EncoderBlock.from_config(config).compute_dtype == "bfloat16"


def test_options_go_to_the_layers_that_take_them():
    block = DecoderBlock(N, 16, cross_attention=True, num_kv_heads=1, gated=True, initializer_range=0.5, window=(3, 0))
    assert {block.attention.num_kv_heads, block.cross_attention.num_kv_heads} == {1}
    assert (block.attention.window, block.cross_attention.window) == ((3, 0), (None, None))
    assert {block.attention.initializer_range, block.feed_forward.initializer_range} == {
        0.5
    } and block.feed_forward.gated
    assert (block.attention.dropout.rate, block.feed_forward.dropout.rate, block.dropout.rate) == (0, 0, 0)
    block = EncoderBlock(N, 16, dropout=0.1, attention_dropout=0.2, activation_dropout=0.3)
    assert (block.dropout.rate, block.attention.dropout.rate, block.feed_forward.dropout.rate) == (0.1, 0.2, 0.3)
    with pytest.raises(
        ValueError, match=r"Unrecognized keyword arguments passed to EncoderBlock: \{'num_kv_head': 1\}"
    ):
        EncoderBlock(N, 16, num_kv_head=1)


def test_option_names_are_those_of_the_constructors():
    assert set(DENSE_OPTIONS) <= option_names(Attention)
    assert option_names(Attention) - set(DENSE_OPTIONS) == {*inspect.signature(Attention).parameters} - {"kwargs"}
    assert share_out({"trainable": False, "scale": 1}, Attention) == [{"scale": 1}, {"trainable": False}]


class Doubled(Attention):
    """An attention of a user's own, with an option more."""

    def __init__(self, *arguments, factor: float = 2.0, **kwargs):
        super().__init__(*arguments, **kwargs)
        self.factor = factor

    def call(self, hidden_states, context=None, **inputs):
        return super().call(hidden_states * self.factor, context, **inputs)


@pytest.mark.integration
@pytest.mark.parametrize("block_class", [EncoderBlock, DecoderBlock])
def test_a_block_of_another_attention(block_class):
    own = type("Own", (block_class,), {"attention_class": Doubled})
    plain, block, x = block_class(N, 16, norm_order="pre"), own(N, 16, norm_order="pre", factor=1.0), normal(B, T, D)
    plain(x), block(x)
    block.set_weights(plain.get_weights())
    masks = {"padding_mask": np.arange(T) < np.array([[2], [T]]), "use_causal_mask": True}
    for inputs in ({}, masks):
        np.testing.assert_array_equal(to_numpy(block(x, **inputs)), to_numpy(plain(x, **inputs)))
    symbols = {"hidden_states": keras.Input((T, D)), "padding_mask": keras.Input((T,), dtype="bool")}
    model = keras.Model(symbols, block(**symbols))
    given = {"hidden_states": x, "padding_mask": masks["padding_mask"]}
    np.testing.assert_allclose(to_numpy(model(given)), to_numpy(plain(**given)), atol=1e-6)
    assert isinstance(block.attention, Doubled)
    other = own(N, 16, norm_order="pre")
    other(x)
    other.set_weights(plain.get_weights())
    assert np.abs(to_numpy(other(x)) - to_numpy(plain(x))).max() > 1e-4


def test_a_call_that_ends_in_kwargs_has_names():
    assert list(inspect.signature(Doubled.call).parameters) == list(inspect.signature(Attention.call).parameters)
    assert list(inspect.signature(FeedForward.call).parameters) == ["self", "hidden_states", "training"]


def test_fresh_initialisers_draw_anew():
    initializer = keras.initializers.RandomNormal()
    one, other = (to_numpy(fresh(keras.initializers.get, initializer)((3, 3))) for _ in range(2))
    assert np.abs(one - other).max() > 1e-3
    assert fresh(keras.regularizers.get, None) is None


def test_classes_of_initialisers(tmp_path):
    layer = FeedForward(4, kernel_initializer=keras.initializers.Ones, bias_constraint=keras.constraints.NonNeg)
    model = functional(layer, {"hidden_states": normal(1, 2, 3)})
    model.save(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras").layers[-1].get_config() == layer.get_config()
    assert all((to_numpy(weight) == 1).all() for weight in names_of(layer.weights, "kernel"))


class Plain(keras.regularizers.Regularizer):
    """Without a configuration."""

    def __call__(self, x):
        return 0.0 * ops.sum(x)


class Filled(keras.initializers.Initializer):
    """Whose configuration says nothing of its argument."""

    def __init__(self, value):
        self.value = value

    def __call__(self, shape, dtype=None):
        return ops.full(shape, self.value, dtype)


def test_objects_that_cannot_be_saved_are_used():
    """As by Keras' layers: `save` refuses them."""
    layer = FeedForward(4, kernel_initializer=Filled(2.0), kernel_regularizer=Plain())
    layer(normal(1, 2, 3))
    assert len(layer.losses) == 2 and all((to_numpy(weight) == 2).all() for weight in names_of(layer.weights, "kernel"))


SIZED = {
    "attention": lambda size: Attention(size(2), head_dim=size(4), num_kv_heads=size(1), value_dim=size(4)),
    "encoder block": lambda size: EncoderBlock(size(2), size(16), num_kv_heads=size(1), seed=size(1)),
    "decoder block": lambda size: DecoderBlock(size(2), size(16)),
    "feed-forward": lambda size: FeedForward(size(16), gated=True),
    "recurrence": lambda size: Recurrence("gru", size(6)),
    "convolution": lambda size: Convolution(size(6), kernel_size=size(3)),
    "mixer encoder block": lambda size: MixerEncoderBlock("convolution", size(6), kernel_size=size(3)),
    "mixer decoder block": lambda size: MixerDecoderBlock("lstm", size(6), encoder="attention", num_heads=size(2)),
    "positions": lambda size: LearnedPositions(size(9)),
}


@pytest.mark.parametrize("name", SIZED)
def test_sizes_may_be_numpys_integers(name):
    context = {"context": normal(B, T, D)} if name == "mixer decoder block" else {}
    layer, plain = SIZED[name](np.int64), SIZED[name](int)
    for made in (layer, plain):
        made(STATES["hidden_states"], **context)
    assert [weight.shape for weight in layer.weights] == [weight.shape for weight in plain.weights]
    written = [json.loads(json.dumps(made.get_config() | {"name": ""})) for made in (layer, plain)]
    assert written[0] == written[1]
