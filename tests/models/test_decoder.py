from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import randomize, to_numpy, tolerance
from golden import check_weights
from invariants import check_causal, same_dropout
from pairs import pairwise
from shapes import shapes_only
from small_decoders import COUNTERPARTS, FAMILIES, all_heads, by_kind, decode, small_config, token_ids, whole

from keras_transformers.config.choices import NORM_ORDERS, NORMS, POSITIONS
from keras_transformers.heads import language_model_head
from keras_transformers.models import decoder
from keras_transformers.models.decoder import prefill

DTYPES = ["float32", "mixed_bfloat16"]
KINDS = [kind for kind in POSITIONS if kind != "disentangled"]  # which only encoders have

CONFIGS = pairwise(
    positions=KINDS,
    norm=list(NORMS),
    norm_order=list(NORM_ORDERS),
    num_kv_heads=[4, 2],
    gated=[False, True],
    use_bias=[True, False],
    dtype=DTYPES,
)
each_config = pytest.mark.parametrize("options", CONFIGS, ids=lambda options: "-".join(map(str, options.values())))
each_family = pytest.mark.parametrize("family", by_kind([*FAMILIES, *COUNTERPARTS]))
each_attention = pytest.mark.parametrize("family", by_kind(FAMILIES))
each_counterpart = pytest.mark.parametrize("family", by_kind(COUNTERPARTS))


def make(family="gpt2", dtype="float32", outputs=(), **options):
    """A configuration and a model of it whose weights all matter."""
    config = small_config(family, **options)
    return config, randomize(decoder(config, outputs=outputs, dtype=dtype), scale=0.3)


def hidden_states(model, inputs, **options):
    return to_numpy(model(inputs, **options)["hidden_states"])


@pytest.mark.integration
@each_config
def test_packed_texts_equal_rows_of_their_own_and_padding_changes_nothing(options):
    check_packed(**options)


@pytest.mark.integration(quick=["mixed_bfloat16-plain_cnn"])
@each_counterpart
@pytest.mark.parametrize("dtype", DTYPES)
def test_packed_texts_without_attention(family, dtype):
    check_packed(family=family, dtype=dtype)


def check_packed(**options):
    _, model = make(**options)
    ids, documents = token_ids(2, 8), np.array([[1, 1, 1, 2, 2, 3, 0, 0], [1, 2, 2, 2, 2, 2, 2, 2]])
    outputs = hidden_states(model, whole(ids, documents))
    assert np.isfinite(outputs).all()
    for row, document in [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2)]:
        here = documents[row] == document
        alone = hidden_states(model, whole(ids[row : row + 1, here]))[0]
        np.testing.assert_allclose(outputs[row, here], alone, **tolerance(options["dtype"]))


@pytest.mark.integration(quick=["0.0-plain_cnn"])
@each_family
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_later_token_changes_nothing_before_it(family, dropout):
    _, model = make(family, dropout=dropout, attention_dropout=dropout)
    if not dropout:
        return check_causal(lambda ids: hidden_states(model, whole(ids)), token_ids())
    run = same_dropout(model, lambda ids: hidden_states(model, whole(ids), training=True))
    assert np.abs(run(token_ids()) - hidden_states(model, whole(token_ids()))).max() > 0.1
    return check_causal(run, token_ids())


def check_decoding(config, model, dtype="float32", **options):
    ids, prompts = token_ids(2, 6), np.array([4, 2])
    expected = hidden_states(model, whole(ids))
    steps = decode(config, model, ids, prompts, **options)
    for positions, outputs in steps:
        rows = np.take_along_axis(expected, positions[..., None], axis=1)
        np.testing.assert_allclose(outputs, rows, **tolerance(dtype))
    return steps


@pytest.mark.integration(
    quick=[
        "alibi-layer-post-4-False-True-float32",
        "learned-layer-sandwich-4-False-True-float32",
        "learned-rms-post-2-True-False-mixed_bfloat16",
        "relative-rms-post-4-False-True-float32",
        "sinusoidal-offset_rms-res_post-4-False-False-mixed_bfloat16",
    ]
)
@each_config
def test_a_cached_step_equals_the_whole_pass(options):
    check_decoding(*make(**options), options["dtype"])


@pytest.mark.integration
@each_family
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stride", [1, 2])
def test_steps_of_several_tokens(family, dtype, stride):
    assert len(check_decoding(*make(family, dtype), dtype, stride=stride)) == 2 // stride


# (K, S, H) of each part of a block's cache; of a family of decoders, that of its attention.
STATES = {
    "short_convolution": {"state_inputs": (2, 16)},
    "gated_delta": {"state_inputs": (3, 44), "state_memory": (4, 6, 5)},
}
CACHES = {"lstm": {"key": (1, 6, 16), "value": (1, 6, 16)}}
CACHES |= {family: {"key": (1, 6, 24)} for family in ("simple_rnn", "gru")}
CACHES |= {family: {"key": (1, 6, 16)} for family in ("cnn", "plain_cnn")}


@pytest.mark.integration(quick=["documents1-cnn", "documents0-cnn", "documents2-cnn"])
@pytest.mark.parametrize("family", ["gpt2", "lstm", "cnn"])
@pytest.mark.parametrize("documents", [[1, 1, 2, 2, 1, 1], [1, 1, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]])
def test_no_token_sees_later_ones_whatever_the_numbers_of_texts(family, documents):
    """Numbers that return, and padding in front or in between; padding itself sees anything."""
    _, model = make(family)
    ids, documents = token_ids(1), np.array([documents])
    before = hidden_states(model, whole(ids, documents))
    ids[:, -2:] += 3
    changes = np.abs(hidden_states(model, whole(ids, documents)) - before).max(-1)[documents > 0]
    assert not changes[:-2].any() and changes[-2:].min() > 1e-3


@pytest.mark.integration(quick=["gpt2", "gemma3_text", "qwen3_5_text", "lfm2", "plain_cnn"])
@each_family
def test_prefill_is_the_model_itself(family):
    config, model = make(family)
    inputs = whole(token_ids())
    outputs = to_numpy(prefill(config, model)(inputs))
    np.testing.assert_array_equal(outputs["hidden_states"], hidden_states(model, inputs))
    attention = dict.fromkeys(("key", "value"), (config.num_kv_heads, 6, config.head_dim))
    shapes = [{part: array.shape[1:] for part, array in cache.items()} for cache in outputs["cache"]]
    mixers = [config.block(index).mixer for index in range(2)]
    assert shapes == [STATES.get(mixer) or CACHES.get(family, attention) for mixer in mixers]


@pytest.mark.integration
@each_family
@pytest.mark.parametrize("dtype", DTYPES)
def test_save_and_load_then_decode(family, dtype, tmp_path):
    config, model = make(family, dtype)
    logits = language_model_head(config, model.get_layer("token_embedding"), model.output["hidden_states"], dtype)
    model = randomize(keras.Model(model.input, {**model.output, "logits": logits}), scale=0.3)
    model.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    inputs = whole(token_ids())
    keras.tree.map_structure(np.testing.assert_array_equal, to_numpy(loaded(inputs)), to_numpy(model(inputs)))
    arguments = (token_ids(), np.array([4, 2]))
    for (_, ours), (_, again) in zip(
        decode(config, model, *arguments), decode(config, loaded, *arguments), strict=True
    ):
        np.testing.assert_array_equal(ours, again)


@pytest.mark.parametrize("positions", KINDS)
def test_the_order_of_tokens_matters(positions):
    _, model = make(positions=positions)
    ids = token_ids(1, 8)
    first, second = hidden_states(model, whole(ids)), hidden_states(model, whole(ids[:, [0, 2, 1, *range(3, 8)]]))
    assert np.abs(first[:, -1] - second[:, -1]).max() > 1e-3


@pytest.mark.integration
@each_attention
def test_optional_outputs(family):
    config, model = make(family, outputs=["attention_scores", "all_hidden_states"])
    ids = token_ids()
    outputs = to_numpy(model(whole(ids)))
    scores, states = outputs["attention_scores"], outputs["all_hidden_states"]
    attending = [config.block(index).mixer for index in range(2)].count("attention")
    assert scores.shape == (2, attending, 4, 6, 6)
    assert states.shape == (2, 3, 6, 16)
    np.testing.assert_array_equal(states[:, -1], outputs["hidden_states"])
    np.testing.assert_allclose(scores.sum(-1), 1, atol=1e-5)
    assert not np.triu(scores, 1).any()
    check_decoding(config, model)


@each_counterpart
def test_a_model_without_attention_has_no_scores_of_it(family):
    with pytest.raises(ValueError, match=r"unknown outputs \['attention_scores'\]; a model with mixer='"):
        make(family, outputs=["attention_scores"])
    _, model = make(family, outputs=["all_hidden_states"])
    outputs = to_numpy(model(whole(token_ids())))
    np.testing.assert_array_equal(outputs["all_hidden_states"][:, -1], outputs["hidden_states"])


@pytest.mark.integration(quick=["cnn"])
@pytest.mark.parametrize("family", ["lstm", "cnn"])
def test_the_order_of_tokens_matters_without_attention(family):
    _, model = make(family, positions=None)
    ids = token_ids(1, 6)
    first, second = hidden_states(model, whole(ids)), hidden_states(model, whole(ids[:, [0, 1, 2, 4, 3, 5]]))
    assert np.abs(first[:, -1] - second[:, -1]).max() > 1e-3


def test_a_text_longer_than_the_table_of_positions():
    with pytest.raises(ValueError, match="9 tokens and the position table 8 rows"):
        make()[1](whole(token_ids(1, 9)))


@pytest.mark.parametrize("family", COUNTERPARTS)
def test_weight_names_and_shapes_without_attention(family):
    with shapes_only():
        model = all_heads(small_config(family))
    check_weights(model, family)
