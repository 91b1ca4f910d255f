"""Paths of labels through a text and their scores: the sum over all paths, the best path, and marginals.

`C` labels and a boundary, number C, are K = C + 1 states. A path begins at the boundary, has a label at each position
of the chain, and ends at the boundary; a text without positions has one path, of score 0. Loops are `ops.scan` over
positions: on a CPU it takes 6 ms for 32 x 128 tokens, and a tree of products of K x K matrices 54 ms (9 labels) or 120
ms (18).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_transformers.layers.attention.masks import true_first
from keras_transformers.layers.core.custom_gradient import custom_gradient
from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.tensor_types import Tensor

NEVER = -1e30  # of steps that no path has; sums of some hundreds of them are finite in float32
LEAST = float(np.finfo(np.float32).min)  # a maximum of nothing is none on TensorFlow: batches may be empty
NO_LABEL = -1


class PathScores(NamedTuple):
    """The parts of the scores of paths.

    Args:
        labels: float32 (B, T, K), the score of each label at each position; 0 for the boundary.
        real: Boolean (B, T), whether a position is part of the chain. Others may be anywhere.
        steps: float32 (B, K, K), the score of a step from a state (row) to another one.
    """

    labels: Tensor
    real: Tensor
    steps: Tensor


def packed(scores: Tensor, real: Tensor, steps: Tensor) -> Tensor:
    """Return the scores of paths as one tensor, as a loss of Keras takes one.

    Args:
        scores: (B, T, C).
        real: (B, T), non-zero for positions of the chain.
        steps: (K, K).

    Returns:
        float32 (B, T + K, K): a row for each position, whose last column is 1 in the chain, otherwise 0; then `steps`.
    """
    real = ops.cast(ops.not_equal(real, 0), "float32")[..., None]  # (B, T, 1)
    rows = ops.concatenate([ops.cast(scores, "float32"), real], axis=-1)  # (B, T, K)
    states = rows.shape[-1]
    steps = ops.broadcast_to(steps[None], (ops.shape(rows)[0], states, states))
    return ops.concatenate([rows, steps], axis=1)


def unpacked(path_scores: Tensor, real: Tensor | None = None) -> PathScores:
    """Return the parts of `packed` scores.

    Args:
        path_scores: (B, T + K, K).
        real: Boolean (B, T), False for further positions that are not part of the chain; None for none.

    Raises:
        ValueError: It is no tensor of packed scores.
    """
    path_scores = ops.cast(path_scores, "float32")
    is_known = len(path_scores.shape) == 3 and path_scores.shape[-1] is not None and path_scores.shape[-1] > 1
    if not is_known or (path_scores.shape[1] is not None and path_scores.shape[1] < path_scores.shape[-1]):
        raise ValueError(
            "expected the output of a `CRF` layer, (batch, length + labels + 1, labels + 1): received a tensor of "
            f"shape {tuple(path_scores.shape)}."
        )
    states = path_scores.shape[-1]
    rows, steps = path_scores[:, :-states], path_scores[:, -states:]  # (B, T, K), (B, K, K)
    is_real = rows[..., -1] > 0  # (B, T)
    labels = ops.pad(rows[..., :-1], [[0, 0], [0, 0], [0, 1]])  # (B, T, K)
    return PathScores(labels, is_real if real is None else is_real & real, steps)


def path_score(paths: PathScores, labels: Tensor) -> Tensor:
    """Return the score of one path of each text.

    Args:
        paths: Scores of paths.
        labels: int32 (B, T), from 0 to C - 1; those outside of the chain are not read.

    Returns:
        float32 (B,).
    """
    states, order = paths.steps.shape[-1], true_first(paths.real)  # (B, T)
    chosen = ops.one_hot(ops.where(paths.real, labels, NO_LABEL), states)  # (B, T, K)
    chain = take_at(ops.where(paths.real, labels, states - 1), order)  # (B, T), then the boundary
    chain = ops.pad(chain, [[0, 0], [1, 1]], constant_values=states - 1)  # (B, T + 2)
    before, after = chain[:, :-1], chain[:, 1:]  # (B, T + 1) each
    steps = take_at(ops.reshape(_with_rest(paths.steps), (-1, states * states)), before * states + after)
    return ops.sum(chosen * paths.labels, axis=(1, 2)) + ops.sum(steps, axis=1)


def log_partition(paths: PathScores) -> Tensor:
    """Return the logarithm of the sum of the exponentials of the scores of all paths, by the forward algorithm.

    The gradient is written by hand, the marginals of the forward-backward algorithm: XLA refuses the gradient of a
    loop whose number of steps it does not know, and without XLA the loop backwards takes three times as long.

    Args:
        paths: Scores of paths.

    Returns:
        float32 (B,).
    """

    def function(labels: Tensor, steps: Tensor) -> tuple[Tensor, Callable]:
        scores = PathScores(labels, paths.real, steps)
        forward, total = _forward(scores)

        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
            upstream, backward = upstream[:, None, None], _backward(scores)
            return _of_labels(scores, forward, backward) * upstream, _of_steps(scores, forward, backward) * upstream

        return total, gradient

    return custom_gradient(function)(paths.labels, paths.steps)


def marginals(paths: PathScores) -> Tensor:
    """Return the probability of each label at each position, over all paths, by the forward-backward algorithm.

    Args:
        paths: Scores of paths.

    Returns:
        float32 (B, T, C); 0 for positions that are not part of the chain.
    """
    return _of_labels(paths, _forward(paths)[0], _backward(paths))[..., :-1]


def best_path(paths: PathScores) -> Tensor:
    """Return the labels of the best path, by the algorithm of Viterbi.

    Args:
        paths: Scores of paths.

    Returns:
        int32 (B, T), -1 for positions that are not part of the chain. Of equal labels the first is taken, from the
        beginning of the text on.
    """
    steps, states = _between(paths.steps), paths.steps.shape[-1]
    here = ops.broadcast_to(ops.arange(states, dtype="int32"), ops.shape(steps[:, 0]))  # (B, K)

    def best_rest(after: tuple, position: Tensor) -> tuple:
        (rest, _), (labels, real) = after, _parts(position)
        scores = steps + (labels + rest)[:, None]  # (B, K, K)
        nearest = ops.where(real, ops.max(scores, axis=-1, initial=LEAST), rest)  # (B, K)
        after = nearest, ops.where(real, ops.cast(ops.argmax(scores, axis=-1), "int32"), here)
        return after, after

    def follow(state: Tensor, following: Tensor) -> tuple:
        state = take_at(following, state[:, None])[:, 0]  # (B,)
        return state, state

    _, (_, following) = ops.scan(best_rest, (_ends(paths.steps), here), _by_position(paths), reverse=True)
    _, labels = ops.scan(follow, here[:, -1], following)  # (T, B)
    return ops.where(paths.real, ops.swapaxes(labels, 0, 1), NO_LABEL)


def _by_position(paths: PathScores) -> Tensor:
    """Return the scores of labels, and whether they are real, (T, B, K + 1).

    One tensor, as `ops.scan` of Keras 3.15 on TensorFlow fails on several of a length that is not known.
    """
    real = ops.cast(paths.real, "float32")[..., None]  # (B, T, 1)
    return ops.swapaxes(ops.concatenate([paths.labels, real], axis=-1), 0, 1)


def _parts(positions: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scores of labels (..., K) at positions (..., K + 1), and whether they are real, (..., 1)."""
    return positions[..., :-1], positions[..., -1:] > 0


def _between(steps: Tensor) -> Tensor:
    """Return the steps (B, K, K) of which none leads to the boundary."""
    return ops.concatenate([steps[..., :-1], ops.full_like(steps[..., -1:], NEVER)], axis=-1)


def _with_rest(steps: Tensor) -> Tensor:
    """Return the steps (B, K, K), with one of score 0 from the boundary to itself."""
    states = steps.shape[-1]
    is_rest = ops.equal(ops.arange(states * states), states * states - 1)  # (K * K,)
    return ops.where(ops.reshape(is_rest, (states, states)), 0.0, steps)


def _ends(steps: Tensor) -> Tensor:
    """Return the scores (B, K) of the last step of each state."""
    return _with_rest(steps)[..., -1]


def _forward(paths: PathScores) -> tuple[Tensor, Tensor]:
    """Return the sums (T + 1, B, K) over paths up to each state, at the boundary first; and over all paths, (B,).

    The first are less their largest of each position, as sums over long texts would lose digits.
    """
    steps = _between(paths.steps)

    def step(before: tuple, position: Tensor) -> tuple[tuple, tuple]:
        (sums, total), (labels, real) = before, _parts(position)
        new, largest = _less_largest(ops.logsumexp(sums[..., None] + steps, axis=1) + labels)  # (B, K), (B, 1)
        after = ops.where(real, new, sums), ops.where(real, total + largest, total)
        return after, after

    begin = ops.where(ops.arange(steps.shape[-1]) < steps.shape[-1] - 1, NEVER, ops.zeros_like(steps[:, 0]))  # (B, K)
    (last, total), (sums, _) = ops.scan(step, (begin, ops.zeros_like(begin[:, :1])), _by_position(paths))
    total = total[:, 0] + ops.logsumexp(last + _ends(paths.steps), axis=-1)  # (B,)
    return ops.concatenate([begin[None], sums]), total


def _backward(paths: PathScores) -> Tensor:
    """Return the sums (T, B, K) over the rests of paths behind each state, less their largest of each position."""
    steps = _between(paths.steps)

    def step(after: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
        labels, real = _parts(position)
        before, _ = _less_largest(ops.logsumexp(steps + (labels + after)[:, None], axis=-1))  # (B, K)
        return ops.where(real, before, after), after

    return ops.scan(step, _ends(paths.steps), _by_position(paths), reverse=True)[1]


def _less_largest(sums: Tensor) -> tuple[Tensor, Tensor]:
    largest = ops.max(sums, axis=-1, keepdims=True, initial=LEAST)
    return sums - largest, largest


def _of_labels(paths: PathScores, forward: Tensor, backward: Tensor) -> Tensor:
    """Return the probabilities (B, T, K) of labels, 0 where nothing is real."""
    found = ops.softmax(forward[1:] + backward)  # (T, B, K)
    return ops.where(paths.real[..., None], ops.swapaxes(found, 0, 1), 0.0)


def _of_steps(paths: PathScores, forward: Tensor, backward: Tensor) -> Tensor:
    """Return how often each step (B, K, K) is expected."""
    labels, real = _parts(_by_position(paths))  # (T, B, K), (T, B, 1)
    each = forward[:-1, :, :, None] + _between(paths.steps) + (labels + backward)[:, :, None]  # (T, B, K, K)
    flat = ops.softmax(ops.reshape(each, (*ops.shape(labels)[:2], each.shape[-1] ** 2)))  # (T, B, K * K)
    between = ops.reshape(ops.sum(ops.where(real, flat, 0.0), axis=0), ops.shape(paths.steps))  # (B, K, K)
    last = ops.softmax(forward[-1] + _ends(paths.steps))  # (B, K)
    is_label = ops.arange(last.shape[-1]) < last.shape[-1] - 1
    return ops.concatenate([between[..., :-1], ops.where(is_label, last, 0.0)[..., None]], axis=-1)
