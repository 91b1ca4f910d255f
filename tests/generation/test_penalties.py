from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.generation import penalties
from keras_transformers.generation.penalties import add_bias, apply, ban_ngrams, penalize_repetition, suppress
from keras_transformers.generation.prescribed import Prescribed, prescribed_by
from keras_transformers.generation.program import Program
from keras_transformers.generation.request import make_request
from keras_transformers.generation.state import Cache, Source, first_state

INF = float("inf")
LOGITS = np.array([[1.0, -2.0, 3.0, 4.0]] * 3, "float32")


def int32(*values):
    return np.array(values, "int32")


def test_repetition_by_hand():
    ids = int32([0, 1, 1, -1], [3, -1, -1, -1], [0, 1, 2, 3])
    result = to_numpy(penalize_repetition(LOGITS, ids, np.array([2.0, 4.0, 1.0], "float32")))
    np.testing.assert_allclose(result, [[0.5, -4, 3, 4], [1, -2, 3, 1], [1, -2, 3, 4]])


def test_ngrams_by_hand():
    ids = int32([1, 2, 1, 2, 0, 0], [3, 2, 3, 3, 1, 0], [3, 2, 3, 3, 1, 0])
    result = to_numpy(ban_ngrams(LOGITS, ids, int32(4, 4, 4), int32(2, 2, 0)))
    # 2 was followed by 1; 3 by 2 and by 3; what stands behind a row's end counts for nothing.
    assert [np.flatnonzero(np.isinf(row)).tolist() for row in result] == [[1], [2, 3], []]
    result = to_numpy(ban_ngrams(LOGITS, ids, int32(4, 3, 1), int32(3, 1, 5)))
    assert [np.flatnonzero(np.isinf(row)).tolist() for row in result] == [[1], [2, 3], []]


def test_an_ngram_longer_than_its_row_costs_nothing(monkeypatch):
    """Nor does a long one whose tokens differ soon; it bans what it should where they are equal."""
    calls, take = [], penalties.ops.take_along_axis
    monkeypatch.setattr(penalties.ops, "take_along_axis", lambda *rest, **more: calls.append(0) or take(*rest, **more))
    ids = int32([1, 2, 1, 2, 0, 0], [3, 2, 0, 1, 2, 3], [3, 3, 3, 3, 3, 3])
    result = to_numpy(ban_ngrams(LOGITS, ids, int32(4, 6, 6), int32(2_000, 5, 6)))
    assert [np.flatnonzero(np.isinf(row)).tolist() for row in result] == [[], [], [3]]
    assert len(calls) < 20


def test_bias_and_suppression_by_hand():
    bias = np.array([[0.5, -INF], [2.0, 9.0], [0.0, 1.0]], "float32")
    result = to_numpy(add_bias(LOGITS, int32([3, 0], [1, -1], [-1, 3]), bias))
    np.testing.assert_allclose(result, [[-INF, -2, 3, 4.5], [1, 0, 3, 4], [1, -2, 3, 5]])
    result = to_numpy(suppress(LOGITS, (1, 3), np.array([True, False, True])))
    np.testing.assert_allclose(result, [[1, -INF, 3, -INF], [1, -2, 3, 4], [1, -INF, 3, -INF]])


def changed(logits, ids, new, bias, prescribed=Prescribed(), source=None, **parameters):  # noqa: B008
    """All at once, as the loop does it: rows of equal length."""
    rows, length = ids.shape
    request = make_request(rows, [], bias, parameters)
    program = Program(None, None, None, eos_ids=(2, 5), token_bytes=None, prescribed=prescribed)
    lengths = int32(*[length] * rows)
    cache = Cache([], () if source is None else Source([], np.ones_like(source), source))
    state = first_state(cache, np.pad(ids, ((0, 0), (0, 3))), lengths, lengths + 3, None, request.stop)
    return to_numpy(apply(logits, state._replace(num_new=int32(*[new] * rows)), request, program))


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(3))
def test_all_are_those_of_transformers(seed):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    ids, logits = np.random.default_rng(seed).integers(0, 8, (20, 12)).astype("int32"), normal(20, 10, seed=seed)
    bias, tokens, expected = {3: 2.5, 7: -1.5, 1: -INF}, torch.from_numpy(ids).long(), torch.from_numpy(logits)
    for processor in (
        transformers.SequenceBiasLogitsProcessor({(number,): value for number, value in bias.items()}),
        transformers.RepetitionPenaltyLogitsProcessor(1.7),
        transformers.NoRepeatNGramLogitsProcessor(2),
        transformers.MinNewTokensLengthLogitsProcessor(8, 5, [2, 5]),
    ):
        expected = processor(tokens, expected)
    options = {"repetition_penalty": 1.7, "no_repeat_ngram": 2, "min_new_tokens": 5}
    np.testing.assert_allclose(changed(logits, ids, 4, bias, **options), expected.numpy(), rtol=1e-6)
    assert np.isfinite(changed(logits, ids, 5, {}, min_new_tokens=5)).all()
    suppressed = transformers.SuppressTokensLogitsProcessor([4, 6])(tokens, torch.from_numpy(logits)).numpy()
    np.testing.assert_array_equal(changed(logits, ids, 0, {4: -INF, 6: -INF}), suppressed)


# Settings of a checkpoint, and the class in `transformers` that does the same.
KEYS = {
    "suppress_tokens": ([1, 4], "SuppressTokens", lambda value, _: (value,)),
    "sequence_bias": (
        [[[3], 2.5], [[0, 3], 1.0], [[1, 3], 4.0], [[2, 1], -INF], [[3, 4, 6], -2.0], [[5, 4, 6], 9.0], [[0, 3], 1.5]],
        "SequenceBias",
        lambda value, _: ({tuple(ids): bias for ids, bias in value},),
    ),
    "bad_words_ids": ([[0, 3], [6, 7, 1], [1, 1]], "NoBadWords", lambda value, _: (value, [2, 5])),
    "suppressed_ids": ([2, 3], "NoBadWords", lambda value, _: ([[number] for number in value], [2, 5])),
    "encoder_repetition_penalty": (1.7, "EncoderRepetitionPenalty", lambda value, read: (value, read)),
    "encoder_no_repeat_ngram_size": (2, "EncoderNoRepeatNGram", lambda value, read: (value, read)),
    "exponential_decay_length_penalty": ([1, 1.6], "", lambda value, _: (value, [2, 5], 8)),
    "remove_invalid_values": (True, "InfNanRemove", lambda *_: ()),
}


@pytest.mark.parity
@pytest.mark.parametrize("has_source", [False, True])
@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_a_checkpoint(name, has_source):
    """12 tokens, 4 of them new."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    value, kind, arguments = KEYS[name]
    random = np.random.default_rng(0)
    ids, logits = random.integers(0, 8, (40, 12)).astype("int32"), normal(40, 10, seed=1)
    logits[0, 2], logits[1, 7] = -INF, INF
    source = random.integers(0, 8, (20, 6)).astype("int32") if has_source else None
    read = torch.from_numpy(source if has_source else ids[:, :8]).long()
    kind = getattr(transformers, f"{kind}LogitsProcessor") if kind else transformers.ExponentialDecayLengthPenalty
    expected = kind(*arguments(value, read))(torch.from_numpy(ids).long(), torch.from_numpy(logits.copy())).numpy()
    result = changed(logits, ids, 4, {}, prescribed_by({name: value}, [2, 5]), source)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert not np.array_equal(expected, logits)


def test_sequences_by_hand():
    """A sequence counts where a row ends in all but its last token; several with one last token add up."""
    ids, biases = int32([1, 2, 0], [2, 2, 2]), (((2, 3), 1.0), ((1, 2, 3), 4.0), ((3,), 0.5), ((2, 2, 2, 0), 9.0))
    result = to_numpy(penalties.bias_sequences(LOGITS[:2], ids, int32(2, 3), biases))
    np.testing.assert_allclose(result, [[1, -2, 3, 9.5], [10, -2, 3, 5.5]])
    result = to_numpy(penalties.bias_sequences(LOGITS[:1], int32([2, 2, 0]), int32(1), biases))
    np.testing.assert_allclose(result, [[1, -2, 3, 5.5]])


def test_the_end_becomes_likelier_by_hand():
    logits = np.array([[2.0, -2.0, -INF, 1.0]] * 3, "float32")
    result = to_numpy(penalties.favour_end(logits, (0, 1, 2), int32(3, 4, 5), 3, 2.0))
    np.testing.assert_allclose(result, [[2, -2, -INF, 1], [4, 0, -INF, 1], [8, 4, -INF, 1]])


def test_what_is_read_by_hand():
    """A pair of the source is not copied; its tokens become likelier. An id beyond the decoder's vocabulary is none."""
    ids, source = int32([1, 2], [3, 3]), int32([2, 3, 9], [0, 3, 1])
    logits, options = np.array([[1.0, -2.0, 3.0, 4.0]] * 2, "float32"), {"read_repetition": 2.0, "read_ngram": 2}
    result = changed(logits, ids, 1, {}, Prescribed(**options), source)
    np.testing.assert_allclose(result, [[1, -2, 6, -INF], [2, -INF, 3, 8]])


@pytest.mark.parametrize(
    ("forced", "prompt", "first"),
    [((), 1, 0), ((), 3, 0), (((1, 3),), 1, 1), (((1, 3),), 3, 0), (((1, 3), (2, 0)), 1, 2)],
)
def test_no_text_begins_with_a_suppressed_token(forced, prompt, first):
    """The first free token: behind what is forced, which are places of the row."""
    prescribed = Prescribed(never_first=(2, 3), forced=forced)
    for new in range(4):
        ids = np.ones((1, prompt + new), "int32")
        result = changed(LOGITS[:1], ids, new, {}, prescribed)[0]
        wanted = [token for place, token in forced if place == prompt + new]
        likely = wanted or ([0, 1] if new == first else [0, 1, 2, 3])
        assert np.flatnonzero(np.isfinite(result)).tolist() == likely, new
