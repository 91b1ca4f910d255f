"""Masks that Keras carries, which its own attention removes: a layer of ours that loses one warns once."""

from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.layers import (
    Attention,
    Convolution,
    DecoderBlock,
    EncoderBlock,
    MixerDecoderBlock,
    MixerEncoderBlock,
    Recurrence,
)

LAYERS = {
    "attention": lambda: Attention(2),
    "encoder": lambda: EncoderBlock(2, 16),
    "decoder": lambda: DecoderBlock(2, 16, norm_order="post"),
    "recurrence": lambda: Recurrence("gru", 6),
    "convolution": lambda: Convolution(6),
    "mixer encoder": lambda: MixerEncoderBlock("gru", 6),
    "mixer decoder": lambda: MixerDecoderBlock("gru", 6),
}
READERS = {
    "attention": lambda: Attention(2),
    "decoder": lambda: DecoderBlock(2, 16, cross_attention=True),
    "attending mixer": lambda: MixerDecoderBlock("gru", 6, encoder="attention"),
    "mixer with states": lambda: MixerDecoderBlock("gru", 6, encoder="state"),
}


def series():
    x = normal(2, 6, 8)
    x[:, 4:] = 0
    return x


def masked():
    return keras.layers.Masking()(series())


def removed(x):
    """The same tensor after `keras.layers.MultiHeadAttention` has read it."""
    keras.layers.MultiHeadAttention(2, 4)(x, x)
    return x


def translator(reader, **options):
    """Keras' attention reads a masked context, then a layer of ours does."""
    source = keras.Input((None, 8))
    masking = keras.layers.Masking()
    context = masking(source)
    theirs = keras.layers.MultiHeadAttention(2, 4)(context, context)
    masks = {name: masking.compute_mask(source) for name in options.get("masks", ())}
    return keras.Model(source, reader(theirs, context, **masks))


def texts(found) -> list[str]:
    return [str(warning.message) for warning in found if "gets no mask" in str(warning.message)]


@pytest.mark.integration(quick=["encoder"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_mask_that_is_gone_since_the_last_call(name):
    layer, x = LAYERS[name](), masked()
    expected = to_numpy(layer(x))[:, :4]
    removed(x)
    with pytest.warns(UserWarning, match=rf"{layer.name} gets no mask with its hidden_states.*padding_mask=") as found:
        lost = [to_numpy(layer(x)) for _ in range(2)]
    assert len(texts(found)) == 1
    if name in ("attention", "encoder"):  # for the others, padding behind a text changes nothing here
        assert np.abs(lost[0][:, :4] - expected).max() > 1e-4
    assert np.allclose(to_numpy(layer(x, padding_mask=np.any(series() != 0, -1)))[:, :4], expected, atol=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("name", READERS)
def test_a_context_in_a_functional_model(name, tmp_path):
    model = translator(READERS[name]())
    model.compile("sgd", "mse", jit_compile=False)
    with pytest.warns(UserWarning, match=r"its context.*padding_mask=") as found:
        model.fit(series(), series(), verbose=0, epochs=2)
    assert len(texts(found)) == 1
    model.save(tmp_path / "model.keras")
    with pytest.warns(UserWarning, match=r"its context.*padding_mask="):
        keras.saving.load_model(tmp_path / "model.keras")(series())


@pytest.mark.integration
def test_in_a_subclass(tmp_path):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.masking, self.block = keras.layers.Masking(), EncoderBlock(2, 16)
            self.theirs = keras.layers.MultiHeadAttention(2, 4)

        def call(self, x):
            x = self.masking(x)
            first = self.block(x)
            return first + self.theirs(x, x) + self.block(x)

    model = Own()
    model.compile("sgd", "mse", jit_compile=False)
    with pytest.warns(UserWarning, match="gets no mask") as found:
        model.fit(series(), series(), verbose=0)
    assert len(texts(found)) == 1


@pytest.mark.integration
@pytest.mark.parametrize("name", LAYERS)
def test_no_warning_without_a_loss(name):
    x = series()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        layer = LAYERS[name]()
        for inputs in (masked(), x, keras.ops.convert_to_tensor(x), keras.layers.Dense(8)(x), masked()):
            layer(inputs)
        LAYERS[name]()(removed(keras.ops.convert_to_tensor(x)))  # it never had a mask
        layer(removed(masked()), padding_mask=np.any(x != 0, -1))


@pytest.mark.integration
def test_no_warning_where_keras_passes_the_mask_by_name():
    """Functional models keep the mask of a layer with one input as an argument of its call."""
    steps = keras.Input((None, 8))
    x = keras.layers.Masking()(steps)
    theirs, block = keras.layers.MultiHeadAttention(2, 4)(x, x), EncoderBlock(2, 16)
    model = keras.Model(steps, [theirs, block(x)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        output = to_numpy(model(series())[1])
    expected = block(series(), padding_mask=np.any(series() != 0, -1))
    np.testing.assert_allclose(output[:, :4], to_numpy(expected)[:, :4], atol=1e-6)


@pytest.mark.integration
def test_no_warning_for_a_layer_that_reads_contexts_with_and_without_masks():
    reader = Attention(2)
    source, plain = (keras.Input((None, 8)) for _ in range(2))
    context = keras.layers.Masking()(source)
    theirs = keras.layers.MultiHeadAttention(2, 4)(plain, plain)
    model = keras.Model([source, plain], reader(theirs, context) + reader(theirs, plain))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model([series(), normal(2, 4, 8)])


@pytest.mark.integration
def test_the_remedy():
    model = translator(DecoderBlock(2, 16, cross_attention=True), masks=["encoder_padding_mask"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model(series())
