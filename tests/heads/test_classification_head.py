from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import to_numpy
from bert_model import batch, small_config

from keras_transformers.heads import classification_head, pooler
from keras_transformers.models import encoder
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW


def classifier(dtype: str | None = None, **options) -> keras.Model:
    config = small_config(**options)
    model = encoder(config, dtype=dtype)
    pooled = pooler(config, model.output["hidden_states"], dtype)
    return keras.Model(model.input, {"logits": classification_head(config, pooled, 3, dtype)})


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_a_classifier_learns(dtype):
    """With our loss and optimizer, on this backend: the class is the first token's."""
    keras.utils.set_random_seed(0)
    model = classifier(dtype, num_layers=1)
    inputs = batch(small_config(), lengths=(5,) * 32)
    labels = inputs["token_ids"][:, 0] % 3
    model.compile(AdamW(1e-2), {"logits": CrossEntropy()}, jit_compile=keras.backend.backend() == "jax")
    history = model.fit(inputs, labels, batch_size=16, epochs=15, verbose=0)
    assert history.history["loss"][0] == pytest.approx(np.log(3), abs=0.4)
    assert history.history["loss"][-1] < 0.3
    predictions = to_numpy(model(inputs)["logits"]).argmax(-1)
    assert (predictions == labels).mean() > 0.9


@pytest.mark.integration
def test_dropout_is_before_the_projection():
    model, inputs = classifier(dropout=0.5), batch(small_config())
    first, second = (to_numpy(model(inputs, training=True)["logits"]) for _ in range(2))
    assert np.abs(first - second).max() > 1e-4
    np.testing.assert_array_equal(to_numpy(model(inputs)["logits"]), to_numpy(model(inputs)["logits"]))


def test_at_least_one_class():
    with pytest.raises(ValueError, match="num_classes=0"):
        classification_head(small_config(), keras.Input((16,)), 0)
