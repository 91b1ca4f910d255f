"""Stacks whose blocks differ: windows, rotary bases, blocks without positions, a block without its attention norm."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import small_seq2seq
from arrays import randomize, to_numpy, tolerance
from bert_model import batch
from bert_model import small_config as small_encoder
from small_decoders import decode, small_config, token_ids, whole

from keras_transformers.layers import RotaryPositions
from keras_transformers.layers.attention.attention import LINEAR_FROM
from keras_transformers.models import build, decoder, encoder
from keras_transformers.models.block_inputs import block_inputs
from keras_transformers.models.decoder import prefill

ROTARY = (
    {"attention_window": 3, "max_wavelength": 10},
    {"rotary": False},
    {"attention_window": 2, "rotary": False},
    {"attention_norm": False},
)
SCALED = (
    {"rotary_scaling": {"kind": "linear", "factor": 4}},
    {"attention_window": 3, "rotary_scaling": {"kind": "yarn", "factor": 2, "original_length": 5}},
    {},
    {"rotary": False},
)
WINDOWS = ({"attention_window": 3}, {}, {"attention_window": 2}, {})
DECODERS = {
    "rotary": {"family": "llama", "block_options": ROTARY},
    "scaled": {"family": "llama", "block_options": SCALED, "partial_rotary_factor": 0.5, "head_dim": 8},
    "no positions": {"family": "llama", "block_options": [{"rotary": False}, {"rotary": False, "attention_window": 3}]},
    "learned": {"family": "gpt2", "block_options": WINDOWS},
    "post-norm": {"family": "gpt1", "block_options": WINDOWS},
    "relative": {"family": "gpt2", "positions": "relative", "block_options": WINDOWS},
    "alibi": {"family": "gpt2", "positions": "alibi", "block_options": WINDOWS},
}
each_decoder = pytest.mark.parametrize("name", DECODERS)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
OUTPUTS = ["attention_scores", "all_hidden_states"]


def make(name, dtype="float32", outputs=(), **options):
    config = small_config(**({"num_layers": 4} | DECODERS[name] | options))
    return config, randomize(decoder(config, outputs=outputs, dtype=dtype), scale=0.3)


def causal_window(length, window=None):
    """(T, T), as `transformers` defines it."""
    distances = np.arange(length)[:, None] - np.arange(length)
    return (distances >= 0) & (distances < (window or length))


def check_blocks(model, side, options, masks, states, positions, max_wavelength=10000.0):
    """Each block, called by hand with the mask and the table of its own options, gives what the model gives."""
    for index, own in enumerate(options):
        rotary = None
        if own.get("rotary", True):
            rotary = RotaryPositions(4, own.get("max_wavelength", max_wavelength))(positions)
        block = model.get_layer(f"{side}_block_{index}")
        outputs = block(states[:, index], attention_mask=masks[index], rotary=rotary)
        outputs = outputs if block.return_scores is False and side == "encoder" else outputs[0]
        if index == len(options) - 1:
            outputs = model.get_layer("final_norm")(outputs)
        np.testing.assert_allclose(to_numpy(outputs), states[:, index + 1], **tolerance("float32"))


@pytest.mark.integration
def test_each_block_of_a_decoder_by_hand_with_several_texts_in_a_row():
    _, model = make("rotary", outputs=OUTPUTS, max_wavelength=500.0)
    documents = np.array([[1, 1, 1, 2, 2, 2, 2, 0], [1] * 8])
    outputs = to_numpy(model(whole(token_ids(2, 8), documents)))
    same = (documents[:, :, None] == documents[:, None]) & (documents[:, None] > 0)
    masks = [same & causal_window(8, own.get("attention_window")) for own in ROTARY]
    for index, mask in enumerate(masks):
        seen = outputs["attention_scores"][:, index].max(1) > 0
        np.testing.assert_array_equal(seen[documents > 0], mask[documents > 0])
    positions = np.array([[0, 1, 2, 0, 1, 2, 3, 0], list(range(8))])
    check_blocks(model, "decoder", ROTARY, masks, outputs["all_hidden_states"], positions, 500.0)


@pytest.mark.integration
def test_each_block_of_an_encoder_by_hand():
    options = ({"attention_norm": False}, {"attention_window": 4, "max_wavelength": 10}, {"attention_window": 3})
    config = small_encoder(norm_order="pre", positions="rotary", num_layers=3, block_options=options)
    model = randomize(encoder(config, outputs=OUTPUTS), scale=0.3)
    inputs = batch(config)
    outputs = to_numpy(model(inputs))
    distances = np.abs(np.arange(7)[:, None] - np.arange(7))
    real = inputs["padding_mask"][:, None] > 0
    masks = [real & np.full((7, 7), True), real & (distances <= 2), real & (distances <= 1)]
    for index, mask in enumerate(masks):
        mask = mask & real.swapaxes(1, 2)  # a row of padding may see nothing at all
        seen = (outputs["attention_scores"][:, index].max(1) > 0) & real.swapaxes(1, 2)
        np.testing.assert_array_equal(seen, mask)
    check_blocks(model, "encoder", options, masks, outputs["all_hidden_states"], np.arange(7)[None])


@pytest.mark.integration(quick=["2-float32-no positions"])
@each_decoder
@each_dtype
@pytest.mark.parametrize("stride", [1, 2])
def test_a_cached_step_equals_the_whole_pass(name, dtype, stride):
    config, model = make(name, dtype)
    ids, prompts = token_ids(2, 8), np.array([4, 2])
    expected = to_numpy(model(whole(ids))["hidden_states"])
    steps = decode(config, model, ids, prompts, stride)
    assert len(steps) == 4 // stride
    for positions, outputs in steps:
        rows = np.take_along_axis(expected, positions[..., None], axis=1)
        np.testing.assert_allclose(outputs, rows, **tolerance(dtype))


@pytest.mark.integration
@each_decoder
def test_a_cached_step_equals_the_row_of_a_text_that_shares_a_row(name):
    config, model = make(name, max_length=12)
    ids = token_ids(1, 12)
    documents = np.array([[1] * 4 + [2] * 6 + [3] * 2])
    packed = to_numpy(model(whole(ids, documents))["hidden_states"])[:, 4:10]
    for positions, outputs in decode(config, model, ids[:, 4:10], np.array([2])):
        rows = np.take_along_axis(packed, positions[..., None], axis=1)
        np.testing.assert_allclose(outputs, rows, **tolerance("float32"))


@pytest.mark.integration
@each_decoder
def test_prefill_gives_what_the_model_gives(name):
    config, model = make(name)
    inputs = whole(token_ids(2, 8), np.array([[1] * 8, [1] * 5 + [0] * 3]))
    outputs = to_numpy(prefill(config, model)(inputs))
    np.testing.assert_array_equal(outputs["hidden_states"], to_numpy(model(inputs)["hidden_states"]))
    assert len(outputs["cache"]) == 4


@pytest.mark.integration
@pytest.mark.parametrize("name", ["rotary", "scaled", "learned"])
def test_save_and_load(name, tmp_path):
    config, model = make(name)
    model.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    inputs = whole(token_ids(2, 8))
    keras.tree.map_structure(np.testing.assert_array_equal, to_numpy(loaded(inputs)), to_numpy(model(inputs)))
    arguments = (token_ids(2, 8), np.array([4, 2]))
    for (_, ours), (_, again) in zip(
        decode(config, model, *arguments), decode(config, loaded, *arguments), strict=True
    ):
        np.testing.assert_array_equal(ours, again)


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        {"family": "t5", "block_options": [{"attention_window": 3}, {}]},
        {"family": "mbart", "block_options": [{"attention_window": 3}, {}]},
        {"positions": "rotary", "block_options": [{"attention_window": 3, "max_wavelength": 10}, {}]},
        {"positions": "rotary", "block_options": [{"attention_window": 3, "rotary": False}, {}]},
    ],
    ids=["t5", "mbart", "rotary", "no positions"],
)
def test_two_stacks(options):
    """The encoder sees half a window on both sides, the decoder a window back; a step equals the whole pass."""
    config = small_seq2seq.small_config(num_layers=2, **options)
    names = ["cross_attention_scores", "encoder_attention_scores", "attention_scores"]
    model = randomize(small_seq2seq.whole_model(config, outputs=names), scale=0.3)
    inputs = small_seq2seq.pairs()
    expected = to_numpy(model(inputs))
    seen = expected["encoder_attention_scores"][0].max(1) > 0
    np.testing.assert_array_equal(seen[0], np.abs(np.arange(5)[:, None] - np.arange(5)) <= 1)
    assert seen[1].all()
    seen = expected["attention_scores"][0].max(1) > 0
    np.testing.assert_array_equal(seen, [causal_window(6, 3), causal_window(6)])
    for positions, outputs in small_seq2seq.decode(config, model, inputs, np.array([3, 1])):
        rows = np.take_along_axis(expected["hidden_states"], positions[..., None], axis=1)
        np.testing.assert_allclose(outputs["hidden_states"], rows, **tolerance("float32"))


def test_the_order_of_tokens_does_not_matter_to_an_encoder_without_positions():
    config = small_encoder(positions="rotary", num_segments=0, block_options=[{"rotary": False}])
    model, inputs, order = randomize(encoder(config), scale=0.3), batch(config, (7,)), [0, 2, 1, 6, 4, 5, 3]
    outputs, swapped = (
        to_numpy(model(inputs | {"token_ids": ids})["hidden_states"])
        for ids in (inputs["token_ids"], inputs["token_ids"][:, order])
    )
    np.testing.assert_allclose(swapped, outputs[:, order], **tolerance("float32"))


def test_blocks_that_want_the_same_share_it():
    config = small_config("llama", num_layers=8, block_options=ROTARY)
    layers = build.layers(config, (), "float32")
    positions, documents = np.arange(5)[None], np.ones((1, 5), "int32")
    inputs = block_inputs(config, layers, "decoder", positions, positions, documents=documents)
    masks, tables = [own["attention_mask"] for own in inputs], [own.get("rotary") for own in inputs]
    assert masks[1] is masks[3]
    np.testing.assert_array_equal(to_numpy(masks[1]), causal_window(5)[None])
    assert masks[0] is masks[4]
    assert len({id(tensor) for tensor in masks}) == 3
    assert tables[0] is tables[4]
    assert tables[3] is tables[7]
    assert tables[0] is not tables[3]
    assert [index for index, table in enumerate(tables) if table is None] == [1, 2, 5, 6]


@pytest.mark.integration
def test_layers_and_weights():
    _, model = make("rotary")
    tables = {layer.name: layer.max_wavelength for layer in model.layers if isinstance(layer, RotaryPositions)}
    assert tables == {"positions": 10, "positions_1": 10000}
    norms = [weight.path for weight in model.weights if "attention_norm" in weight.path]
    assert norms == [f"decoder_block_{index}/attention_norm/scale" for index in range(3)]
    _, model = make("scaled")
    scales = [layer.scaling and layer.scaling.kind for layer in model.layers if isinstance(layer, RotaryPositions)]
    assert scales == ["linear", "yarn", None]
    _, model = make("no positions")
    assert not [layer for layer in model.layers if isinstance(layer, RotaryPositions)]
    config = small_seq2seq.small_config(num_layers=2, positions="rotary", block_options=[{"max_wavelength": 10}, {}])
    names = {name for name in build.layers(config, (), "float32") if "positions" in name}
    assert names == {"encoder_positions", "encoder_positions_1", "decoder_positions", "decoder_positions_1"}


LONG = {"max_length": LINEAR_FROM}


@pytest.mark.integration
@each_decoder
def test_a_decoder_of_long_texts_makes_its_masks_in_chunks(name):
    """What is made in chunks, without a mask of (T, T), is what a decoder of short texts gives."""
    _, model = make(name, max_length=8)
    documents = np.array([[1, 1, 1, 2, 2, 2, 2, 0], [1] * 8])
    inputs = whole(token_ids(2, 8), documents)
    long_config, long_model = make(name, **LONG)
    weights = {weight.path: weight for weight in long_model.weights}
    for weight in model.weights:  # the table of learned positions is longer
        weights[weight.path].assign(np.resize(to_numpy(weight), weights[weight.path].shape))
    expected, found = (to_numpy(each(inputs)["hidden_states"]) for each in (model, long_model))
    np.testing.assert_allclose(found[documents > 0], expected[documents > 0], **tolerance("float32"))
    assert model.get_layer("decoder_block_0").attention.window == (None, None)
    assert long_model.get_layer("decoder_block_0").attention.window[1] == 0
    for positions, step_states in decode(long_config, long_model, inputs["token_ids"][1:], np.array([4]), stride=2):
        np.testing.assert_allclose(step_states[0], found[1, positions[0]], **tolerance("float32"))


@pytest.mark.integration
def test_an_encoder_of_long_texts_makes_its_masks_in_chunks():
    options = {"norm_order": "pre", "positions": "rotary", "num_layers": 2}
    options["block_options"] = ({"attention_window": 4}, {})
    configs = [small_encoder(**options, max_length=length) for length in (16, LINEAR_FROM)]
    models = [encoder(config) for config in configs]
    models[1].set_weights(randomize(models[0], scale=0.3).get_weights())
    inputs = batch(configs[0])
    expected, found = (to_numpy(model(inputs)["hidden_states"]) for model in models)
    real = np.asarray(inputs["padding_mask"]) > 0
    assert not real.all()
    np.testing.assert_allclose(found[real], expected[real], **tolerance("float32"))
    assert [models[1].get_layer(f"encoder_block_{index}").attention.window for index in (0, 1)] == [
        (2, 2),
        (None, None),
    ]
