from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import randomize, to_numpy, tolerance
from bert_model import batch, small_config
from golden import check_weights
from pairs import pairwise
from shapes import shapes_only

from keras_transformers.config.choices import NORM_ORDERS, NORMS, POSITIONS
from keras_transformers.families import convolutional, recurrent
from keras_transformers.models import encoder

CONFIGS = pairwise(
    positions=list(POSITIONS),
    norm=list(NORMS),
    norm_order=list(NORM_ORDERS),
    num_kv_heads=[4, 2],
    gated=[False, True],
    use_bias=[True, False],
    norm_bias=[None, True],
    intermediate_bias=[None, False],
    num_segments=[2, 0],
    dtype=["float32", "mixed_bfloat16"],
)


def config_of(positions, **options):
    """Of a model with these positions, which may need more."""
    more = {"position_buckets": 6, "num_kv_heads": None} if positions == "disentangled" else {}
    return small_config(positions=positions, **(options | more))


@pytest.mark.integration(
    quick=[
        "alibi-rms-post-4-True-False-None-None-0-float32",
        "relative-layer-pre-4-True-False-True-None-0-mixed_bfloat16",
        "relative-rms-post-2-False-True-None-False-2-float32",
        "sinusoidal-layer-post-2-True-False-True-None-2-float32",
        "sinusoidal-offset_rms-res_post-4-False-True-None-False-0-mixed_bfloat16",
    ]
)
@pytest.mark.parametrize("options", CONFIGS, ids=lambda options: "-".join(map(str, options.values())))
def test_padding_changes_nothing(options):
    dtype = options["dtype"]
    check_padding(config_of(**{name: value for name, value in options.items() if name != "dtype"}), dtype)


MIXERS = {
    "simple_rnn": (recurrent, {"mixer": "simple_rnn"}),
    "gru": (recurrent, {"mixer": "gru"}),
    "lstm": (recurrent, {"norm_order": "post"}),
    "cnn_encoder": (convolutional, {}),
}


def mixing_config(mixer, **options):
    configure, own = MIXERS[mixer]
    sizes = {"num_layers": 2, "hidden_dim": 16, "intermediate_dim": 12, "num_segments": 2, "kind": "encoder"}
    return configure(30, max_length=8, **(sizes | own | options))


@pytest.mark.integration(quick=["mixed_bfloat16-cnn_encoder"])
@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_padding_changes_nothing_without_attention(mixer, dtype):
    check_padding(mixing_config(mixer), dtype)


@pytest.mark.integration(quick=["cnn_encoder"])
@pytest.mark.parametrize("mixer", MIXERS)
def test_both_sides_of_a_token_matter_without_attention(mixer):
    config = mixing_config(mixer, positions=None)
    model, inputs = randomize(encoder(config), scale=0.3), batch(config, (7,))
    expected = to_numpy(model(inputs)["hidden_states"])[0, 3]
    for place in (2, 4):
        ids = inputs["token_ids"].copy()
        ids[0, place] = 31 - ids[0, place]
        assert np.abs(to_numpy(model(inputs | {"token_ids": ids})["hidden_states"])[0, 3] - expected).max() > 1e-3


def check_padding(config, dtype):
    model = randomize(encoder(config, dtype=dtype), scale=0.3)
    inputs, lengths = batch(config), (7, 3, 1)
    outputs = to_numpy(model(inputs)["hidden_states"])
    assert outputs.shape == (3, 7, 16)
    for row, length in enumerate(lengths):
        alone = {name: array[row : row + 1, :length] for name, array in inputs.items()}
        expected = to_numpy(model(alone)["hidden_states"])[0]
        np.testing.assert_allclose(outputs[row, :length], expected, **tolerance(dtype))


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_order_of_tokens_matters(positions):
    config = config_of(positions)
    model, inputs = randomize(encoder(config), scale=0.3), batch(config, (7,))
    swapped = inputs | {name: inputs[name][:, [0, 2, 1, 3, 4, 5, 6]] for name in ("token_ids", "segment_ids")}
    first, second = to_numpy((model(inputs)["hidden_states"], model(swapped)["hidden_states"]))
    assert np.abs(first[:, 0] - second[:, 0]).max() > 1e-3


@pytest.mark.integration
@pytest.mark.parametrize("norm_order", NORM_ORDERS)
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_optional_outputs(norm_order, dtype):
    config = small_config(norm_order=norm_order)
    model = randomize(encoder(config, outputs=["attention_scores", "all_hidden_states"], dtype=dtype), scale=0.3)
    inputs = batch(config)
    outputs = to_numpy(model(inputs))
    scores, states = outputs["attention_scores"], outputs["all_hidden_states"]
    assert scores.shape == (3, 2, 4, 7, 7)
    assert states.shape == (3, 3, 7, 16)
    np.testing.assert_array_equal(states[:, -1], outputs["hidden_states"])
    np.testing.assert_allclose(scores.sum(-1), 1, **tolerance(dtype))
    assert not scores[np.broadcast_to(inputs["padding_mask"][:, None, None, None] == 0, scores.shape)].any()

    plain = encoder(config, dtype=dtype)
    plain.set_weights(model.get_weights())
    np.testing.assert_array_equal(to_numpy(plain(inputs)["hidden_states"]), outputs["hidden_states"])


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_save_and_load(positions, dtype, tmp_path):
    config = config_of(positions)
    model = randomize(encoder(config, outputs=["attention_scores"], dtype=dtype))
    model.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    inputs = batch(config)
    keras.tree.map_structure(np.testing.assert_array_equal, to_numpy(loaded(inputs)), to_numpy(model(inputs)))


def test_the_mask_may_be_boolean():
    config = small_config()
    model, inputs = encoder(config), batch(config)
    outputs = model(inputs | {"padding_mask": inputs["padding_mask"] > 0})
    np.testing.assert_array_equal(to_numpy(outputs["hidden_states"]), to_numpy(model(inputs)["hidden_states"]))


def test_errors():
    config = small_config()
    inputs = batch(config)
    with pytest.raises(ValueError, match=r"unknown outputs \['scores'\].*attention_scores"):
        encoder(config, outputs=["scores"])
    with pytest.raises(ValueError, match=r"9 tokens and the position table 8 rows"):
        encoder(config)(batch(config, (9,)))
    del inputs["padding_mask"]
    with pytest.raises(ValueError, match="padding_mask"):
        encoder(config)(inputs)


@pytest.mark.parametrize("mixer", ["gru", "cnn_encoder"])
def test_weight_names_and_shapes_without_attention(mixer):
    with shapes_only():
        model = encoder(mixing_config(mixer))
    check_weights(model, f"{mixer}_both_ways")
