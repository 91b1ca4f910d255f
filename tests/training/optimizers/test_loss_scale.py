"""Loss scaling with accumulation and averages on one replica, and saved; `test_distribute.py` has the replicas."""

import keras
import numpy as np
import pytest

from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.optimizers.loss_scale import LossScaleOptimizer

rng = np.random.default_rng(0)
X = rng.normal(size=(16, 5)).astype("float32")
Y = rng.integers(0, 3, 16)


def fitted(rows=None, weights=None, **options):
    """In batches of 4 rows, once; or not at all."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(8, "tanh", dtype="mixed_float16"), keras.layers.Dense(3, dtype="mixed_float16")]
    model = keras.Sequential([keras.Input((5,)), *layers])
    optimizer = LossScaleOptimizer(AdamW(0.02, clip_norm=0.1, **options))
    model.compile(optimizer, CrossEntropy(), run_eagerly=True)  # a graph takes longer to trace
    if rows is not None:
        model.fit(X[rows], Y[rows], batch_size=4, sample_weight=weights, shuffle=False, verbose=0)
    return model


def difference(one, other):
    return max(np.abs(a - b).max() for a, b in zip(one.get_weights(), other.get_weights(), strict=True))


@pytest.mark.integration
@pytest.mark.parametrize("broken", [0, 1, 2])
def test_an_update_with_an_overflow_is_left_out_as_a_whole(broken):
    """Four micro-batches, two an update: one overflows, and the update of the other two is as it would be alone."""
    weights = np.ones(16, "float32")
    weights[4 * broken] = np.inf
    model = fitted(slice(None), weights, accumulation_steps=2, ema_momentum=0.5)
    rest = slice(0, 8) if broken == 2 else slice(8, 16)
    expected = fitted(rest, weights[rest], accumulation_steps=2, ema_momentum=0.5)
    assert int(model.optimizer.iterations) == int(expected.optimizer.iterations) == 1
    assert float(model.optimizer.dynamic_scale) == 2.0**14
    assert difference(model, expected) < 1e-3 < difference(model, fitted())


@pytest.mark.integration
def test_a_saved_model_keeps_the_scale(tmp_path):
    weights = np.where(np.arange(16) == 0, np.inf, 1.0).astype("float32")
    model = fitted(slice(None), weights)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer) is LossScaleOptimizer
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    assert float(loaded.optimizer.dynamic_scale) == 2.0**14
    for each in (model, loaded):
        each.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    assert difference(model, loaded) == 0
