"""What makes two runs the same: the settings that matter, and nothing else."""

from __future__ import annotations

from pathlib import Path

import keras
import pytest

from keras_transformers.layers import EncoderBlock
from keras_transformers.training.resuming.run_identity import check_same, run_identity


def model_of(*layers):
    inputs = keras.Input((3, 8))
    return keras.Model(inputs, keras.Sequential(layers)(inputs))


def layers_of(*layers):
    return run_identity(model_of(*layers), dataset=None)["layers"]


def block(**options):
    return EncoderBlock(**({"num_heads": 2, "intermediate_dim": 16} | options))


def test_names_and_dtypes_do_not_count():
    assert layers_of(block(name="one")) == layers_of(block(name="two", dtype="bfloat16"))


@pytest.mark.parametrize("option", [{"dropout": 0.1}, {"activation": "relu"}, {"num_heads": 4}, {"use_bias": False}])
def test_an_option_counts(option):
    assert layers_of(block()) != layers_of(block(**option))


@pytest.mark.integration
def test_order_and_number_of_layers_count():
    different = {layers_of(block(), block(dropout=0.1)), layers_of(block(dropout=0.1), block()), layers_of(block())}
    assert len(different) == 3


def scaled(init, **config):
    """A layer `Scaled` of some version."""
    return type(
        "Scaled",
        (keras.layers.Layer,),
        {"__init__": init, "get_config": lambda self: {"factor": 1.0, **config}, "call": lambda self, x: x},
    )()


@pytest.mark.integration
def test_a_new_option_counts_only_where_it_is_used():
    """States of before stay valid when a later version of a layer has one more option."""

    def old(self, factor=1.0):
        keras.layers.Layer.__init__(self)

    def new(self, factor=1.0, shift=0.0):
        keras.layers.Layer.__init__(self)

    before = layers_of(scaled(old))
    assert layers_of(scaled(new, shift=0.0)) == before
    assert layers_of(scaled(new, shift=0.5)) != before
    assert layers_of(scaled(new, shift=False)) != before  # of another type, so perhaps of another meaning


def test_a_layer_that_cannot_be_saved_counts_by_its_class():
    class Unsaved(keras.layers.Layer):
        def __init__(self, width):
            super().__init__()

        def get_config(self):
            raise NotImplementedError

        def call(self, x):
            return x

    assert layers_of(Unsaved(1)) == layers_of(Unsaved(2)) != layers_of(keras.layers.Activation("relu"))


def test_a_difference_is_told_with_both_values():
    folder, identity = Path("runs/one"), {"layers": "a", "seed": 1}
    check_same(folder, identity, dict(identity))
    with pytest.raises(ValueError, match=r"runs/one holds: seed 2 instead of 1\. .*Remove the folder to start anew"):
        check_same(folder, identity, {"layers": "a", "seed": 2})
    with pytest.raises(ValueError, match="rows r instead of None"):
        check_same(folder, identity, identity | {"rows": "r"})
    with pytest.raises(ValueError, match="did not note what was trained on"):
        check_same(folder, None, identity)
