"""`fit` with blocks that compute their inner values again takes the same steps."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_transformers.families import bert, gpt2, t5
from keras_transformers.models import decoder, encoder, encoder_decoder
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.rematerialize import rematerialize

SIZES = {"num_layers": 2, "num_heads": 2, "hidden_dim": 16, "max_length": 16}
SMALL = SIZES | {"num_layers": 1}
RUNS = {
    "encoder": (encoder, bert(30, **SIZES), "float32", False),
    "decoder": (decoder, gpt2(30, **SMALL), "float32", True),  # compiled by XLA
    "encoder_decoder": (encoder_decoder, t5(30, **SMALL), "float32", False),
    "bfloat16": (encoder_decoder, t5(30, **SMALL), "mixed_bfloat16", False),
}


def fit(name, remat):
    """Losses of two epochs with uneven padding and dropout, and the weights."""
    make, config, dtype, jit = RUNS[name]
    keras.utils.set_random_seed(2)
    model = make(config, dtype=dtype)
    model = keras.Model(model.input, keras.layers.Dense(5, dtype=dtype)(model.output["hidden_states"]))
    rematerialize(model, remat)
    rate = 0.3 if dtype == "float32" else 0.1  # bfloat16 ends 0.033 from float32 at 0.3, 0.013 at 0.1
    model.compile(keras.optimizers.SGD(rate), CrossEntropy(), jit_compile=jit)
    ids = np.random.default_rng(0).integers(1, 30, (16, 7)).astype("int32")
    real = np.arange(7) <= np.arange(16)[:, None] % 7
    inputs = {key: ids * real if "ids" in key else real.astype("int32") for key in model.input}
    inputs = {key: array * ("segment" not in key) for key, array in inputs.items()}
    data = (inputs, np.where(real, ids % 5, -1))
    losses = model.fit(*data, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, model.get_weights()


@pytest.mark.integration
@pytest.mark.parametrize("name", RUNS)
def test_fit_takes_the_same_steps(name):
    (losses, weights), (expected, others) = fit(name, True), fit(name, False)
    limit = 1e-6 if RUNS[name][2] == "float32" else 2e-2
    np.testing.assert_allclose(losses, expected, rtol=limit)
    for one, other in zip(weights, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=limit, atol=limit)


def test_on_and_off():
    model = encoder(bert(30, **SIZES))
    blocks = [layer for layer in model.layers if "block" in layer.name]
    for remat in (True, False):
        rematerialize(model, remat)
        assert [block.remat for block in blocks] == [remat] * 2


def test_a_model_without_blocks_is_refused():
    with pytest.raises(ValueError, match=r"expected a model made of blocks, such as EncoderBlock: received 'plain'"):
        rematerialize(keras.Sequential([keras.layers.Dense(1)], name="plain"))
