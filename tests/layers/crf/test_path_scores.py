"""Sums, maxima and marginals of paths, beside all paths written out, and beside `pytorch-crf`."""

from __future__ import annotations

from itertools import pairwise, product

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy

from keras_transformers.layers import CRF
from keras_transformers.layers.crf.path_scores import (
    best_path,
    log_partition,
    marginals,
    path_score,
    unpacked,
)

B, T, C = 5, 4, 3
MASK = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0]])  # with holes, and no word
SCORES = normal(B, T, C, scale=2.0)


def layer(count: int = C, seed: int = 3, **options) -> CRF:
    crf = CRF(**options)
    crf.build((None, None, count))
    return randomize(crf, seed, scale=1.0)


def paths_by_hand(crf: CRF, scores: np.ndarray, mask: np.ndarray) -> list[dict[tuple, float]]:
    """The score of every path of each row, by its labels at real positions."""
    moves, begin, end = to_numpy([crf.transitions, crf.start_transitions, crf.end_transitions])
    found = []
    for row, real in zip(scores, mask.astype(bool), strict=True):
        rows, of_row = row[real], {}
        for path in product(range(row.shape[-1]), repeat=len(rows)):
            score = sum(rows[place, label] for place, label in enumerate(path))
            score += sum(moves[one, other] for one, other in pairwise(path))
            of_row[path] = score + (begin[path[0]] + end[path[-1]] if path else 0.0)
        found.append(of_row)
    return found


def test_sums_maxima_and_marginals_are_those_of_all_paths():
    crf = layer()
    paths = unpacked(crf(SCORES, padding_mask=MASK))
    total, best, likely = map(to_numpy, (log_partition(paths), best_path(paths), marginals(paths)))
    for row, of_row in enumerate(paths_by_hand(crf, SCORES, MASK)):
        places = MASK[row].nonzero()[0]
        values = np.array([*of_row.values()])
        assert total[row] == pytest.approx(np.log(np.exp(values).sum()), abs=1e-5)
        assert tuple(best[row, places]) == max(of_row, key=of_row.get)
        assert (np.delete(best[row], places) == -1).all()
        for number, place in enumerate(places):
            for label in range(C):
                chosen = [value for path, value in of_row.items() if path[number] == label]
                expected = np.exp(np.array(chosen) - total[row]).sum()
                assert likely[row, place, label] == pytest.approx(expected, abs=1e-5)
        assert (np.delete(likely[row], places, axis=0) == 0).all()


def test_the_score_of_a_path_is_read_at_real_positions_only():
    crf = layer()
    paths = unpacked(crf(SCORES, padding_mask=MASK))
    labels = np.random.default_rng(0).integers(0, C, (B, T))
    scores = to_numpy(path_score(paths, labels))
    other = to_numpy(path_score(paths, np.where(MASK, labels, -1)))
    by_hand = paths_by_hand(crf, SCORES, MASK)
    expected = [of_row[tuple(row[real])] for of_row, row, real in zip(by_hand, labels, MASK > 0, strict=True)]
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    np.testing.assert_array_equal(scores, other)


def test_holes_are_as_if_the_words_stood_side_by_side():
    crf, scores = layer(), normal(1, 6, C)
    holes = unpacked(crf(scores, padding_mask=np.array([[0, 1, 0, 0, 1, 1]])))
    close = unpacked(crf(scores[:, [1, 4, 5]]))
    assert float(log_partition(holes)[0]) == pytest.approx(float(log_partition(close)[0]), abs=1e-5)
    assert to_numpy(best_path(holes))[0, [1, 4, 5]].tolist() == to_numpy(best_path(close))[0].tolist()


def test_gradients_are_differences():
    """Of the sum over all paths, by each score and each step, with holes."""
    crf = layer()
    packed = to_numpy(crf(SCORES, padding_mask=MASK))
    gradient = gradient_of(lambda x: keras.ops.sum(log_partition(unpacked(x)) * keras.ops.arange(1.0, B + 1)), packed)
    for place in [(0, 0, 0), (0, 3, 2), (1, 1, 1), (1, 2, 0), (4, 2, 1), (0, T, 1), (1, T + C, 2), (4, T + 2, C)]:
        moved = []
        for sign in (1, -1):
            other = packed.copy()
            other[place] += sign * 1e-2
            moved.append(float(keras.ops.sum(log_partition(unpacked(other)) * np.arange(1.0, B + 1))))
        assert gradient[place] == pytest.approx((moved[0] - moved[1]) / 2e-2, abs=5e-3), place


def gradient_of(function, array: np.ndarray) -> np.ndarray:
    if keras.backend.backend() == "jax":
        import jax

        return np.array(jax.grad(function)(array))
    import tensorflow as tf

    x = tf.constant(array)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
    return tape.gradient(value, x).numpy()


def test_large_and_small_scores_are_finite():
    crf = layer(forbidden=[(-1, 1), (0, 1), (2, 2), (1, -1)])
    for scale in (0.0, 1e3, -1e3):
        paths = unpacked(crf(SCORES * 0 + scale, padding_mask=MASK))
        for value in (log_partition(paths), marginals(paths), path_score(paths, np.zeros((B, T), "int32"))):
            assert np.isfinite(to_numpy(value)).all()


@pytest.mark.integration
def test_long_texts_keep_their_digits():
    crf, scores = layer(), normal(1, 600, C, scale=5.0)
    paths = unpacked(crf(scores))
    moves, begin, end = (array.astype("float64") for array in to_numpy([*crf.weights]))
    sums = [begin + scores[0, 0]]
    for row in scores[0, 1:].astype("float64"):
        sums.append(np.logaddexp.reduce(sums[-1][:, None] + moves, axis=0) + row)
    rest, likely = end, []
    for row, before in zip(scores[0, ::-1].astype("float64"), sums[::-1], strict=True):
        likely.append(np.exp(before + rest - np.logaddexp.reduce(before + rest)))
        rest = np.logaddexp.reduce(moves + row + rest, axis=1)
    assert float(log_partition(paths)[0]) == pytest.approx(np.logaddexp.reduce(sums[-1] + end), rel=1e-5)
    np.testing.assert_allclose(to_numpy(marginals(paths))[0], likely[::-1], atol=1e-4)


@pytest.mark.parity
@pytest.mark.parametrize("count", [1, 2, 9])
def test_as_pytorch_crf(count):
    """Log-likelihoods, gradients and best paths of uneven rows (its chains begin at the first position)."""
    torch, torchcrf = pytest.importorskip("torch"), pytest.importorskip("torchcrf")
    lengths, width = [7, 1, 3, 12, 12, 2], 12
    scores, mask = normal(6, width, count, scale=2.0), np.arange(width) < np.array(lengths)[:, None]
    labels = np.random.default_rng(1).integers(0, count, (6, width))
    crf, theirs = layer(count), torchcrf.CRF(count, batch_first=True)
    for name in ("transitions", "start_transitions", "end_transitions"):
        getattr(theirs, name).data = torch.tensor(to_numpy(getattr(crf, name)))
    emissions = torch.tensor(scores, requires_grad=True)
    likelihoods = theirs(emissions, torch.tensor(labels), torch.tensor(mask), reduction="none")
    likelihoods.sum().backward()

    packed = to_numpy(crf(scores, padding_mask=mask))
    paths = unpacked(packed)
    np.testing.assert_allclose(
        to_numpy(path_score(paths, labels) - log_partition(paths)), likelihoods.detach().numpy(), atol=2e-5, rtol=1e-5
    )
    gradient = gradient_of(
        lambda x: keras.ops.sum(path_score(unpacked(x), labels) - log_partition(unpacked(x))), packed
    )
    steps = gradient[:, width:].sum(0)
    np.testing.assert_allclose(gradient[:, :width, :count], emissions.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(steps[:count, :count], theirs.transitions.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(steps[count, :count], theirs.start_transitions.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(steps[:count, count], theirs.end_transitions.grad.numpy(), atol=1e-5)
    found = [row[row >= 0].tolist() for row in to_numpy(best_path(paths))]
    assert found == theirs.decode(torch.tensor(scores), torch.tensor(mask))
