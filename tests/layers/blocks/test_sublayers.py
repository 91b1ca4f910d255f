"""What encoder and decoder blocks share: classes of sublayers, orders of norms, seeds, and refusals."""

from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from keras import ops
from layer_checks import check_layer

from keras_transformers.layers import (
    Attention,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    MixerDecoderBlock,
    MixerEncoderBlock,
)

BLOCKS = {"encoder": EncoderBlock, "decoder": DecoderBlock}
each_block = pytest.mark.parametrize("block_class", BLOCKS.values(), ids=BLOCKS)
X = normal(2, 3, 8)


@keras.saving.register_keras_serializable("test_sublayers")
class Switch(keras.layers.Layer):
    """Experts of which each token takes one (Fedus et al. 2021), with a loss, and without a `build`."""

    def __init__(self, intermediate_dim, num_experts=2, **kwargs):
        super().__init__(**kwargs)
        self.intermediate_dim, self.num_experts = intermediate_dim, num_experts
        self.router = keras.layers.Dense(num_experts, dtype=self.dtype_policy)
        self.experts = [FeedForward(intermediate_dim, dtype=self.dtype_policy.name) for _ in range(num_experts)]

    def call(self, x):
        weights = ops.softmax(self.router(x))  # (B, T, E)
        chosen = ops.one_hot(ops.argmax(weights, axis=-1), self.num_experts, dtype=weights.dtype)
        self.add_loss(ops.sum(ops.mean(weights, axis=(0, 1)) * ops.mean(chosen, axis=(0, 1))))
        outputs = ops.stack([expert(x) for expert in self.experts], axis=-1)  # (B, T, D, E)
        return ops.sum(outputs * (weights * chosen)[:, :, None], axis=-1)


class Unknown(FeedForward):
    pass


@keras.saving.register_keras_serializable("test_sublayers")
class Doubled(Attention):
    def call(self, hidden_states, context=None, **inputs):
        output, *more = super().call(hidden_states, context, **inputs | {"return_cache": True})
        return (2 * output, *more) if inputs.get("return_cache") else 2 * output


@pytest.mark.integration
@each_block
@pytest.mark.parametrize("given", [Switch, "test_sublayers>Switch"], ids=["class", "name"])
def test_a_feed_forward_class(block_class, given, tmp_path):
    options = {"num_heads": 2, "intermediate_dim": 16, "feed_forward_class": given, "num_experts": 3}
    block = block_class(**options)
    assert type(block.feed_forward) is Switch and block.feed_forward.num_experts == 3
    assert block.get_config()["feed_forward_class"] == "test_sublayers>Switch"
    check_layer(block_class, options, {"hidden_states": X}, tmp_path, idle=r"key/bias$|expert|feed_forward")
    block(X)
    assert len(block.losses) == 1


@pytest.mark.integration
@each_block
def test_its_losses_train(block_class):
    inputs = keras.Input((3, 8))
    block = block_class(num_heads=2, intermediate_dim=16, feed_forward_class=Switch, dtype="mixed_bfloat16")
    model = keras.Model(inputs, block(inputs))
    model.compile("sgd", None, jit_compile=False)
    before = to_numpy(block.feed_forward.router.kernel)
    model.fit(X, verbose=0)
    assert (
        block.feed_forward.compute_dtype == "bfloat16" and np.abs(block.feed_forward.router.kernel - before).max() > 0
    )


@pytest.mark.integration
def test_an_attention_class(tmp_path):
    inputs = keras.Input((3, 8))
    model = keras.Model(inputs, EncoderBlock(2, 16, attention_class=Doubled)(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded.layers[1].attention) is Doubled
    np.testing.assert_array_equal(to_numpy(loaded(X)), to_numpy(model(X)))


def test_a_class_that_nobody_registered():
    with pytest.raises(
        ValueError, match=r"feed_forward_class 'Switchh' is not registered.*register_keras_serializable"
    ):
        EncoderBlock(2, 16, feed_forward_class="Switchh")
    with pytest.raises(ValueError, match=r"must be a subclass of keras\.layers\.Layer"):
        EncoderBlock(2, 16, feed_forward_class=FeedForward(16))
    with pytest.raises(ValueError, match=r"activation_dropout=0\.1 needs a feed_forward_class that takes `dropout`"):
        EncoderBlock(2, 16, feed_forward_class=Switch, activation_dropout=0.1)
    config = EncoderBlock(2, 16, feed_forward_class=Unknown).get_config()
    with pytest.raises(TypeError, match="'Unknown' is not registered"):  # Keras puts it into its own error
        EncoderBlock.from_config(config)
    with keras.saving.custom_object_scope({"Unknown": Unknown}):
        assert type(EncoderBlock.from_config(config).feed_forward) is Unknown


@keras.saving.register_keras_serializable("test_sublayers")
class OwnBlock(EncoderBlock):
    def __init__(self, num_heads, intermediate_dim, **kwargs):
        super().__init__(num_heads, intermediate_dim, **kwargs)
        self.feed_forward = Switch(intermediate_dim, name="own")


@pytest.mark.integration
@pytest.mark.parametrize("replaced", ["feed_forward", "attention", "dropout", "feed_forward.dropout", "same class"])
def test_a_replaced_sublayer_is_refused_at_save(replaced, tmp_path):
    block, inputs = EncoderBlock(2, 16), keras.Input((3, 8))
    new = {"feed_forward": Switch(16), "attention": Doubled(2), "dropout": keras.layers.Dropout(0.5)}
    new |= {"feed_forward.dropout": keras.layers.Dropout(0.5), "same class": FeedForward(32)}
    name = "feed_forward" if replaced == "same class" else replaced
    owner, _, attribute = name.rpartition(".")
    setattr(getattr(block, owner) if owner else block, attribute, new[replaced])
    model = keras.Model(inputs, block(inputs))
    with pytest.raises(ValueError, match=rf"{block.name} cannot be saved: its {name} was replaced by a"):
        model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")


@pytest.mark.integration
def test_a_sublayer_that_a_subclass_replaces_is_saved(tmp_path):
    inputs = keras.Input((3, 8))
    model = keras.Model(inputs, OwnBlock(2, 16)(inputs))
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(keras.saving.load_model(tmp_path / "model.keras")(X)), to_numpy(model(X)))


def test_an_output_of_another_width():
    @keras.saving.register_keras_serializable("test_sublayers")
    class Narrow(keras.layers.Dense):
        def __init__(self, **kwargs):
            super().__init__(1, **kwargs)

    with pytest.raises(ValueError, match=r"must return the shape of its input, \(2, 3, 8\): received \(2, 3, 1\)"):
        EncoderBlock(2, 16, feed_forward_class=Narrow)(X)


@pytest.mark.integration
@each_block
def test_the_order_of_keras_hub(block_class):
    with pytest.raises(
        ValueError, match=r"\(num_heads, intermediate_dim\).*keras_hub.*\(num_heads=4, intermediate_dim=64\)"
    ):
        block_class(64, 4)
    for options in ({"num_heads": 8, "intermediate_dim": 4}, {"num_heads": 4, "intermediate_dim": 4}):
        block_class(**options)(X)
    block_class(8, 4, head_dim=1)(X)
    block_class(4, 4)(X)
    block_class.from_config(block_class(num_heads=8, intermediate_dim=4).get_config())


@pytest.mark.integration
@each_block
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("norm_order", ["res_post", "sandwich"])
def test_norms_before_the_sum(block_class, norm, norm_order, tmp_path):
    options = {"num_heads": 2, "intermediate_dim": 16, "norm": norm, "norm_order": norm_order}
    check_layer(block_class, options, {"hidden_states": X}, tmp_path)
    block = randomize_block(block_class(**options))
    is_sandwich = norm_order == "sandwich"
    first = (lambda name, x: getattr(block, f"{name}_norm")(x)) if is_sandwich else (lambda name, x: x)
    last = f"_{'output_' if is_sandwich else ''}norm"
    x = X + getattr(block, f"attention{last}")(
        block.attention(first("attention", X), use_causal_mask=block_class is DecoderBlock)
    )
    x = x + getattr(block, f"feed_forward{last}")(block.feed_forward(first("feed_forward", x)))
    np.testing.assert_allclose(to_numpy(block(X)), to_numpy(x), atol=1e-5)


def randomize_block(block):
    block(X)
    return randomize(block)


@pytest.mark.integration
@pytest.mark.parametrize("norm_order", ["res_post", "sandwich"])
def test_norms_of_other_blocks(norm_order, tmp_path):
    cross = {"num_heads": 2, "intermediate_dim": 16, "cross_attention": True, "norm_order": norm_order}
    check_layer(DecoderBlock, cross, {"hidden_states": X, "context": X}, tmp_path)
    check_layer(MixerEncoderBlock, {"mixer": "gru", "intermediate_dim": 6, "norm_order": norm_order},
                {"hidden_states": X}, tmp_path)  # fmt: skip
    options = {"mixer": "gru", "intermediate_dim": 6, "encoder": "attention", "norm_order": norm_order}
    check_layer(MixerDecoderBlock, options, {"hidden_states": X, "context": X}, tmp_path)


@pytest.mark.integration
@each_block
def test_a_seed(block_class, tmp_path):
    rates = {"dropout": 0.5, "attention_dropout": 0.5, "activation_dropout": 0.5}
    one, other = (block_class(2, 16, seed=3, **rates) for _ in range(2))
    one(X), other(X)
    other.set_weights(one.get_weights())
    expected = to_numpy(one(X, training=True))
    np.testing.assert_array_equal(expected, to_numpy(other(X, training=True)))
    assert np.abs(to_numpy(one(X, training=True)) - expected).max() > 0
    found = [block.seed for block in (one.dropout, one.attention.dropout, one.feed_forward.dropout)]
    assert len(set(found)) == 3 and block_class.from_config(one.get_config()).attention.dropout.seed == found[1]
    with pytest.raises(ValueError, match="seed must be an integer, or None: received '3'"):
        block_class(2, 16, seed="3")


@pytest.mark.integration
@pytest.mark.parametrize("make", [
    lambda norm: EncoderBlock(1, 4, norm=norm), lambda norm: DecoderBlock(1, 4, norm=norm),
    lambda norm: MixerEncoderBlock("gru", 4, norm=norm), lambda norm: MixerDecoderBlock("gru", 4, norm=norm),
])  # fmt: skip
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_a_width_of_one(make, norm):
    with pytest.warns(UserWarning, match=r"over one number .*keras.layers.Dense\(32\)"):
        make(norm)(normal(2, 5, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        make(norm)(normal(2, 5, 2))
