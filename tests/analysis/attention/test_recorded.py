from __future__ import annotations

import keras
import numpy as np
import pytest
from family_cases import ATTENTION
from keras import ops

from keras_transformers.analysis.attention.recorded import record
from keras_transformers.families import llama
from keras_transformers.models import decoder, encoder, encoder_decoder

SIZES = {"num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 12}
OUTPUTS = {"self": "attention_scores", "encoder": "encoder_attention_scores", "cross": "cross_attention_scores"}
MODELS = {"encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder}
CONFIGS = {
    **{name: case.small(vocabulary_size=40, max_length=12, encoder_vocabulary_size=None)
       for name, case in ATTENTION.items()},
    "llama with a window": llama(40, **SIZES, intermediate_dim=24).replace(
        block_options=({"attention_window": 3}, {"attention_window": 3})
    ),
}  # fmt: skip
each_config = pytest.mark.parametrize("name", CONFIGS)


def lively(model: keras.Model) -> keras.Model:
    """With weights large enough that heads differ, and biases that are not zero."""
    generator = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(variable + 0.4 * generator.normal(size=variable.shape))
    return model


def inputs_of(config) -> dict[str, np.ndarray]:
    ids = np.array([[3, 7, 9, 21, 5]], "int32")
    inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids)}
    if config.num_segments:
        inputs["segment_ids"] = np.array([[0, 0, 1, 1, 1]], "int32")
    if config.kind == "encoder_decoder":
        source = np.array([[8, 2, 11, 30, 4, 6, 1]], "int32")
        inputs |= {"encoder_token_ids": source, "encoder_padding_mask": np.ones_like(source)}
    return inputs


@pytest.mark.integration(quick=["llama with a window"])
@each_config
def test_weights_are_those_of_the_model_and_follow_from_queries_and_keys(name):
    config = CONFIGS[name]
    kinds = list(OUTPUTS) if config.kind == "encoder_decoder" else ["self"]
    model = lively(MODELS[config.kind](config, outputs=[OUTPUTS[kind] for kind in kinds]))
    inputs = inputs_of(config)

    found = record(config, model, inputs)

    outputs = model(inputs)
    assert set(found) == set(kinds)
    for kind, recorded in found.items():
        expected = ops.convert_to_numpy(outputs[OUTPUTS[kind]])[0]
        assert expected.std() > 0.01
        np.testing.assert_allclose(recorded.weights, expected, atol=1e-5)
        np.testing.assert_allclose(ops.convert_to_numpy(ops.softmax(recorded.scores())), expected, atol=1e-5)


def test_no_optional_output_is_needed():
    config = CONFIGS["gpt2"]
    model = lively(decoder(config))

    recorded = record(config, model, inputs_of(config))["self"]

    assert recorded.weights.shape == (2, 4, 5, 5)
    assert recorded.mask.tolist() == [np.tri(5, dtype=bool).tolist()] * 2


def test_heads_that_share_keys_have_the_same_ones():
    config = CONFIGS["llama"]

    key = record(config, lively(decoder(config)), inputs_of(config))["self"].key

    np.testing.assert_array_equal(key[:, 0], key[:, 1])
    assert np.abs(key[:, 1] - key[:, 2]).max() > 0.1


@pytest.mark.integration
def test_the_bias_of_relative_positions_is_part_of_the_scores():
    config = CONFIGS["t5"]

    recorded = record(config, lively(encoder_decoder(config)), inputs_of(config))

    assert recorded["cross"].bias is None
    without = recorded["encoder"]._replace(bias=None)
    assert np.abs(without.scores() - recorded["encoder"].scores()).max() > 0.1
