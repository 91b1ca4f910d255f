from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.generation import penalties
from keras_transformers.generation.penalties import add_bias, apply, ban_ngrams, penalize_repetition, suppress
from keras_transformers.generation.program import Program
from keras_transformers.generation.request import make_request
from keras_transformers.generation.state import first_state

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


def changed(logits, ids, new, bias, **knobs):
    """All at once, as the loop does it: rows of equal length."""
    rows, length = ids.shape
    request = make_request(rows, [], bias, knobs)
    program = Program(None, None, None, eos_ids=(2, 5), token_bytes=None)
    lengths = int32(*[length] * rows)
    state = first_state(None, np.pad(ids, ((0, 0), (0, 3))), lengths, lengths + 3, None, request.stop)
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
