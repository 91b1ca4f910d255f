from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy, tolerance
from block_kinds import KINDS, split_positions
from decoding import PROMPTS, B, D, N, S, Stack, T, make_room
from invariants import check_causal, same_dropout
from layer_checks import IDLE_WEIGHTS, check_layer, randomize_built
from pairs import pairwise

from keras_transformers.layers import DecoderBlock, PositionIds, causal_mask

F = 12
POSITIONS = np.arange(3)[None]
CAUSAL = np.repeat(to_numpy(causal_mask(POSITIONS, POSITIONS)), B, axis=0)


def arguments(cross_attention: bool, cached: bool, kv_heads: int = N) -> dict:
    inputs = {"hidden_states": normal(B, 3, D)}
    names = ["key", "value"]
    if cross_attention:
        inputs["encoder_attention_mask"] = np.array([[[True] * 4], [[True, False, True, True]]])
        names += ["cross_key", "cross_value"]
        if not cached:
            inputs["context"] = normal(B, 4, D, seed=1)
    if not cached:
        return inputs | {"attention_mask": CAUSAL}
    lengths = {"key": S, "value": S, "cross_key": 4, "cross_value": 4}
    cache = {name: normal(B, kv_heads, lengths[name], D // N, seed=5) for name in names}
    queries = np.array([[0, 1, 2], [4, 5, 6]])
    mask = to_numpy(causal_mask(queries, np.arange(S)[None]))
    return inputs | {"attention_mask": mask, "cache": cache, "cache_positions": queries}


CASES = pairwise(
    cross_attention=[False, True],
    cached=[False, True],
    num_kv_heads=[None, 2],
    dropout=[0.0, 0.5],
    attention_dropout=[0.5, 0.0],
    gated=[False, True],
    norm=["layer", "rms"],
    norm_order=["pre", "post"],
    use_bias=[True, False],
    norm_bias=[None, True, False],
    intermediate_bias=[None, False],
    return_scores=[False, True],
    return_cache=[True, False],
)
CASES.append({"cross_attention": True, "cached": False, "num_kv_heads": None, "attention_norm": False})


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=map(str, range(len(CASES))))
def test_layer(case, tmp_path):
    options = {"num_heads": N, "intermediate_dim": F} | {name: case[name] for name in case if name != "cached"}
    inputs = arguments(case["cross_attention"], case["cached"], case["num_kv_heads"] or N)
    idle = r"cross_attention/(key|value)/|key/bias$" if case["cached"] else IDLE_WEIGHTS
    check_layer(DecoderBlock, options, inputs, tmp_path, idle)


def test_without_the_norm_of_the_attention():
    """Sublayer by sublayer."""
    inputs = arguments(cross_attention=False, cached=False)
    block = randomize_built(DecoderBlock(N, F, attention_norm=False), inputs)
    hidden_states, mask = inputs["hidden_states"], inputs["attention_mask"]
    added = hidden_states + to_numpy(block.attention(hidden_states, attention_mask=mask))
    expected = added + to_numpy(block.feed_forward(block.feed_forward_norm(added)))
    np.testing.assert_allclose(to_numpy(block(**inputs)), expected, **tolerance("float32"))


STACKS = pairwise(
    family=list(KINDS),
    cross_attention=[False, True],
    dtype=["float32", "mixed_bfloat16"],
)


@pytest.mark.integration
@pytest.mark.parametrize("case", STACKS, ids=lambda case: "-".join(map(str, case.values())))
def test_a_cached_step_is_a_row_of_the_full_pass(case):
    """Prompts of different lengths, padded on the right: the padding's keys are overwritten before they are seen."""
    positions, options = split_positions(KINDS[case["family"]])
    stack = Stack(positions, case["cross_attention"], case["dtype"], **options)
    hidden_states = normal(B, T, D)
    full = stack.full(hidden_states)
    for queries, outputs in stack.cached(hidden_states):
        expected = np.take_along_axis(full, queries[..., None], axis=1)
        np.testing.assert_allclose(outputs, expected, **tolerance(case["dtype"]))


def test_rows_that_share_a_source_need_it_once():
    """As the three beams of a text do."""
    inputs = arguments(cross_attention=True, cached=True)
    block = randomize_built(DecoderBlock(N, F, cross_attention=True, return_scores=True), inputs)
    rows = {"hidden_states": normal(3 * B, 3, D), "encoder_attention_mask": inputs["encoder_attention_mask"]}
    for name in ("attention_mask", "cache_positions"):
        rows[name] = np.repeat(inputs[name], 3, axis=0)
    shared, repeated = {}, {}
    for name, x in inputs["cache"].items():
        repeated[name] = np.repeat(x, 3, axis=0)
        shared[name] = x if name.startswith("cross_") else repeated[name]
    mask = np.repeat(inputs["encoder_attention_mask"], 3, axis=0)
    expected, _, *scores = block(**rows | {"encoder_attention_mask": mask, "cache": repeated})
    output, cache, *found = block(**rows, cache=shared)
    assert cache["cross_key"].shape[0] == B
    for one, other in zip([output, *found], [expected, *scores], strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), **tolerance("float32"))


@pytest.mark.integration
@pytest.mark.parametrize("family", KINDS)
def test_later_tokens_change_nothing(family):
    positions, options = split_positions(KINDS[family])
    check_causal(Stack(positions, **options).full, normal(B, T, D))


@pytest.mark.integration(quick=["False"])
@pytest.mark.parametrize("cross_attention", [False, True])
def test_later_tokens_change_nothing_with_dropout(cross_attention):
    inputs = arguments(cross_attention, cached=False)
    block = randomize_built(DecoderBlock(N, F, cross_attention, dropout=0.3, attention_dropout=0.3), inputs)

    def run(hidden_states):
        return block(**(inputs | {"hidden_states": hidden_states}), training=True)

    check_causal(same_dropout(block, run), inputs["hidden_states"])


def test_a_row_that_may_attend_nothing_is_finite():
    inputs = arguments(cross_attention=True, cached=False)
    inputs |= {"attention_mask": CAUSAL & False, "encoder_attention_mask": inputs["encoder_attention_mask"] & False}
    block = randomize_built(DecoderBlock(N, F, cross_attention=True), inputs)
    assert np.isfinite(to_numpy(block(**inputs))).all()


def graphs(stack: Stack) -> tuple[keras.Model, keras.Model, keras.Model]:
    """Full pass, prefill and one step as functional models over the same layers; prefill over the very same nodes."""
    whole = {"tokens": keras.Input((None, D), name="tokens")}
    encoder = {
        name: keras.Input(value.shape[1:], dtype=str(value.dtype), name=name)
        for name, value in stack.encoder_inputs.items()
    }
    positions = PositionIds(name="ids")(whole["tokens"])
    hidden_states, caches = stack(whole["tokens"], positions, positions, **encoder)
    full = keras.Model(whole | encoder, {"hidden_states": hidden_states})
    prefill = keras.Model(whole | encoder, {"hidden_states": hidden_states, "cache": caches})

    token = keras.Input((1, D), name="token")
    at = keras.Input((1,), dtype="int32", name="at")
    old = [
        {name: keras.Input((N, None, D // N), name=f"{name}_{index}") for name in cache}
        for index, cache in enumerate(caches)
    ]
    keys = PositionIds(axis=2, name="key_ids")(old[0]["key"])
    hidden_states, caches = stack(token, at, keys, old, **_without_encoder(encoder))
    step = keras.Model(
        {"token": token, "at": at, "cache": old} | _without_encoder(encoder),
        {"hidden_states": hidden_states, "cache": caches},
    )
    return full, prefill, step


def _without_encoder(inputs: dict) -> dict:
    """After the first step the encoder's keys and values are in the cache; its mask is all that is still needed."""
    return {name: value for name, value in inputs.items() if name != "context"}


@pytest.mark.integration
@pytest.mark.parametrize("cross_attention", [False, True])
def test_three_functional_graphs_over_the_same_layers(cross_attention, tmp_path):
    stack = Stack("rotary", cross_attention)
    full, prefill, step = graphs(stack)
    step.save(tmp_path / "step.keras")
    hidden_states, queries = normal(B, T, D), PROMPTS[:, None]
    token = np.take_along_axis(hidden_states, queries[..., None], axis=1)

    def check(step):
        prompt = {"tokens": hidden_states[:, : PROMPTS.max()]} | stack.encoder_inputs
        caches = make_room(prefill(prompt)["cache"])
        inputs = {"token": token, "at": queries, "cache": caches} | _without_encoder(stack.encoder_inputs)
        expected = to_numpy(full({"tokens": hidden_states} | stack.encoder_inputs)["hidden_states"])
        expected = np.take_along_axis(expected, queries[..., None], axis=1)
        np.testing.assert_allclose(to_numpy(step(inputs)["hidden_states"]), expected, **tolerance("float32"))
        return expected

    before = check(step)
    check(keras.saving.load_model(tmp_path / "step.keras"))
    full.compile(keras.optimizers.SGD(0.1), {"hidden_states": "mse"}, jit_compile=False)
    full.fit({"tokens": hidden_states} | stack.encoder_inputs, normal(B, T, D, seed=3), verbose=0)
    after = check(step)  # one set of weights: training the full model trains the step
    assert np.abs(before - after).max() > 1e-3


def test_cross_attention_needs_an_encoder():
    with pytest.raises(ValueError, match="needs a context, the encoder's states"):
        DecoderBlock(N, F, cross_attention=True)(normal(B, 3, D))
    with pytest.raises(ValueError, match="cross_attention=False"):
        DecoderBlock(N, F)(normal(B, 3, D), normal(B, 4, D))


@pytest.mark.integration
def test_dropout_acts_in_training_only():
    inputs = arguments(cross_attention=True, cached=False)
    block = randomize_built(DecoderBlock(N, F, cross_attention=True, dropout=0.5), inputs)
    still, again, dropped = (to_numpy(block(**inputs, training=training)) for training in (False, False, True))
    np.testing.assert_array_equal(still, again)
    assert np.abs(still - dropped).max() > 0.1
