from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import randomize, to_numpy, tolerance
from golden import check_weights
from invariants import check_causal, same_dropout
from shapes import shapes_only
from small_seq2seq import COUNTERPARTS, FAMILIES, decode, pairs, small_config, whole_model

from keras_transformers.families import t5
from keras_transformers.models import encoder_decoder
from keras_transformers.models.decoder import prefill, step

SOURCE = ("encoder_token_ids", "encoder_padding_mask")
BY_STATE = ("rnn_seq2seq", "gru_seq2seq")  # without attention to the encoder
each_family = pytest.mark.parametrize("family", [*FAMILIES, *COUNTERPARTS])
attending = pytest.mark.parametrize("family", [name for name in (*FAMILIES, *COUNTERPARTS) if name not in BY_STATE])
SOME = ["marian", "t5_v1_1", "mbart"]
some_families = pytest.mark.parametrize("family", [*SOME, *COUNTERPARTS])
some_transformers = pytest.mark.parametrize("family", SOME)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])


def make(family="transformer", dtype="float32", outputs=(), **options):
    """A configuration and a model of it, with its head, whose weights all matter."""
    config = small_config(family, **options)
    return config, randomize(whole_model(config, dtype, outputs=outputs), scale=0.3)


def logits(model, inputs, **options):
    return to_numpy(model(inputs, **options)["logits"])


@pytest.mark.integration
@each_family
@each_dtype
def test_padding_of_either_side_changes_nothing(family, dtype):
    _, model = make(family, dtype)
    inputs = pairs()
    inputs["padding_mask"] = np.array([[1] * 6, [1, 1, 0, 0, 0, 0]])
    outputs = logits(model, inputs)
    assert np.isfinite(outputs).all()
    alone = {name: array[1:, : 3 if name in SOURCE else 2] for name, array in inputs.items()}
    np.testing.assert_allclose(outputs[1:, :2], logits(model, alone), **tolerance(dtype))


@pytest.mark.integration
@some_families
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_later_target_token_changes_nothing_before_it(family, dropout):
    _, model = make(family, dropout=dropout, attention_dropout=dropout, activation_dropout=dropout)
    inputs = pairs()

    def run(ids):
        return logits(model, inputs | {"token_ids": ids}, training=bool(dropout))

    check_causal(same_dropout(model, run) if dropout else run, inputs["token_ids"])


@pytest.mark.integration(quick=["mixed_bfloat16-cnn_seq2seq"])
@each_family
@each_dtype
def test_a_cached_step_equals_the_whole_pass(family, dtype):
    config, model = make(family, dtype)
    inputs = pairs()
    expected = to_numpy(model(inputs))
    for positions, outputs in decode(config, model, inputs, np.array([3, 1])):
        rows = np.take_along_axis(expected["hidden_states"], positions[..., None], axis=1)
        np.testing.assert_allclose(outputs["hidden_states"], rows, **tolerance(dtype))


@pytest.mark.integration
@attending
def test_the_alignments_of_a_cached_step(family, dtype="float32"):
    config, model = make(family, dtype, outputs=["cross_attention_scores"])
    inputs = pairs()
    expected = to_numpy(model(inputs))
    for positions, outputs in decode(config, model, inputs, np.array([3, 1])):
        scores = np.take_along_axis(expected["cross_attention_scores"], positions[:, None, None, :, None], axis=3)
        np.testing.assert_allclose(outputs["cross_attention_scores"], scores, **tolerance(dtype))


@pytest.mark.integration
@pytest.mark.parametrize("family", ["t5", *COUNTERPARTS])
def test_steps_of_several_tokens(family):
    config, model = make(family)
    inputs = pairs()
    expected = to_numpy(model(inputs)["hidden_states"])
    ((positions, outputs),) = decode(config, model, inputs, np.array([2, 1]), stride=4)
    rows = np.take_along_axis(expected, positions[..., None], axis=1)
    np.testing.assert_allclose(outputs["hidden_states"], rows, **tolerance("float32"))


@pytest.mark.integration
@some_transformers
def test_prefill_is_the_model_itself(family):
    config, model = make(family, outputs=["cross_attention_scores"])
    inputs = pairs()
    outputs, expected = to_numpy(prefill(config, model, ["cross_attention_scores"])(inputs)), to_numpy(model(inputs))
    for name in ("hidden_states", "cross_attention_scores"):
        np.testing.assert_array_equal(outputs[name], expected[name])
    shapes = {"key": (2, 4, 6, config.head_dim), "cross_key": (2, 4, 5, config.head_dim)}
    shapes |= {"value": shapes["key"], "cross_value": shapes["cross_key"]}
    assert [{part: array.shape for part, array in cache.items()} for cache in outputs["cache"]] == [shapes] * 2


def test_the_encoder_does_not_run_in_a_step():
    config, model = make()
    names = {layer.name for layer in step(config, model).layers}
    assert not [name for name in names if name.startswith("encoder_") and name != "encoder_padding_mask"]
    assert {"decoder_block_0", "decoder_block_1", "token_embedding"} <= names


@pytest.mark.integration(quick=["mbart", "t5_v1_1"])
@some_transformers
def test_optional_outputs(family):
    names = ["attention_scores", "cross_attention_scores", "encoder_attention_scores", "all_hidden_states",
             "all_encoder_hidden_states"]  # fmt: skip
    _, model = make(family, outputs=names)
    inputs = pairs()
    outputs = to_numpy(model(inputs))
    shapes = [(2, 2, 4, 6, 6), (2, 2, 4, 6, 5), (2, 1, 4, 5, 5), (2, 3, 6, 16), (2, 2, 5, 16)]
    assert [outputs[name].shape for name in names] == shapes
    for name in names[:3]:
        np.testing.assert_allclose(outputs[name].sum(-1), 1, atol=1e-5)
    assert not np.triu(outputs["attention_scores"], 1).any()
    assert not outputs["cross_attention_scores"][1, ..., 3:].any()
    np.testing.assert_array_equal(outputs["all_hidden_states"][:, -1], outputs["hidden_states"])
    np.testing.assert_array_equal(outputs["all_encoder_hidden_states"][:, -1], outputs["encoder_hidden_states"])


def test_unknown_outputs_are_an_error():
    with pytest.raises(ValueError, match=r"unknown outputs \['scores'\].*cross_attention_scores"):
        encoder_decoder(small_config(), outputs=["scores"])


@pytest.mark.integration
@pytest.mark.parametrize("family", [*FAMILIES, *BY_STATE, "rnn_attention"])
def test_the_order_of_tokens_matters(family):
    _, model = make(family)
    inputs = pairs((6,), 8)
    expected = logits(model, inputs)[:, -1]
    for name in ("encoder_token_ids", "token_ids"):
        ids = inputs[name].copy()
        ids[:, [1, 2]] = ids[:, [2, 1]]
        assert np.abs(logits(model, inputs | {name: ids})[:, -1] - expected).max() > 1e-3


@pytest.mark.integration
@some_families
def test_save_and_load_then_decode(family, tmp_path):
    config, model = make(family)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    inputs = pairs()
    keras.tree.map_structure(np.testing.assert_array_equal, to_numpy(loaded(inputs)), to_numpy(model(inputs)))
    arguments = (inputs, np.array([3, 1]))
    for (_, ours), (_, again) in zip(
        decode(config, model, *arguments), decode(config, loaded, *arguments), strict=True
    ):
        np.testing.assert_array_equal(ours["hidden_states"], again["hidden_states"])


@pytest.mark.integration
@pytest.mark.parametrize("family", BY_STATE)
def test_what_a_decoder_knows_of_its_source_is_a_state(family):
    """Of the right size, and of the last real token: what padding holds changes nothing, what the source says does."""
    config, model = make(family)
    inputs = pairs()
    first = to_numpy(prefill(config, model)(inputs)["cache"])
    width = config.intermediate_dim
    assert all(part.shape == (2, 1, 1, width) for cache in first for name, part in cache.items() if "cross" in name)
    ids = inputs["encoder_token_ids"].copy()
    ids[1, 3:] = 7
    expected = logits(model, inputs)
    np.testing.assert_array_equal(logits(model, inputs | {"encoder_token_ids": ids}), expected)
    ids[1, 0] += 1
    assert np.abs(logits(model, inputs | {"encoder_token_ids": ids}) - expected)[1].max(axis=-1).min() > 1e-4
    with pytest.raises(ValueError, match=r"unknown outputs \['cross_attention_scores'\]; a model with mixer="):
        prefill(config, model, ["cross_attention_scores"])


@pytest.mark.integration
@pytest.mark.parametrize("field", ["dropout", "attention_dropout", "activation_dropout"])
def test_each_dropout_is_applied(field):
    config = small_config("t5", **({"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, field: 0.5}))
    model = randomize(whole_model(config), scale=0.3)
    assert np.abs(logits(model, pairs(), training=True) - logits(model, pairs())).max() > 0.1


@pytest.mark.integration
def test_dropout_behind_the_last_norm():
    keras.utils.set_random_seed(0)
    states = encoder_decoder(small_config("t5"))(pairs(length=200), training=True)["hidden_states"]
    assert 0.05 < (to_numpy(states) == 0).mean() < 0.15


def test_scores_of_a_fresh_t5_are_as_large_as_with_a_scale():
    """Its queries start smaller, by the root of the width of a head."""
    keras.utils.set_random_seed(0)
    model = encoder_decoder(t5(30, 1, 4, 64))
    attention = model.get_layer("encoder_block_0").attention
    deviations = [float(np.std(to_numpy(dense.kernel))) for dense in (attention.query, attention.key)]
    np.testing.assert_allclose(deviations, [1 / 8 / 4, 1 / 8], rtol=0.1)


@pytest.mark.parametrize("family", COUNTERPARTS)
def test_weight_names_and_shapes_without_attention(family):
    with shapes_only():
        model = whole_model(small_config(family))
    check_weights(model, family)
