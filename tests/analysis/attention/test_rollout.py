from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.analysis import rollout


def test_two_layers_by_hand():
    first = np.array([[1, 0], [1, 0]])
    second = np.array([[1, 0], [0.5, 0.5]])

    layers = rollout(np.stack([first, second]))

    # Half of each layer is the residual connection: [[1, 0], [.5, .5]], then [[1, 0], [.25, .75]] times that.
    np.testing.assert_allclose(layers[0], [[1, 0], [0.5, 0.5]])
    np.testing.assert_allclose(layers[1], [[1, 0], [0.25 + 0.75 * 0.5, 0.75 * 0.5]])


def test_heads_are_averaged_and_rows_add_up_to_one():
    scores = np.random.default_rng(0).dirichlet(np.ones(5), (3, 2, 5))  # (L, N, T, T)

    layers = rollout(scores)

    np.testing.assert_allclose(layers, rollout(scores.mean(1)))
    np.testing.assert_allclose(layers.sum(-1), 1)
    mixed = [0.5 * layer + 0.5 * np.eye(5) for layer in scores.mean(1)]
    np.testing.assert_allclose(layers[-1], np.linalg.multi_dot(mixed[::-1]))


def test_without_a_residual_connection_it_is_the_product_and_with_nothing_else_the_identity():
    scores = np.random.default_rng(0).dirichlet(np.ones(4), (2, 4))

    np.testing.assert_allclose(rollout(scores, residual=0)[-1], scores[1] @ scores[0])
    np.testing.assert_array_equal(rollout(scores, residual=1)[-1], np.eye(4))


def test_what_comes_later_has_no_share_in_a_causal_model():
    scores = np.tril(np.random.default_rng(0).random((3, 4, 4)))

    assert np.triu(rollout(scores)[-1], 1).max() == 0


@pytest.mark.parametrize("shape", [(2, 2), (1, 2, 3, 4, 4), (2, 3, 4)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"\(L, N, T, T\) or \(L, T, T\): received shape .* scores\[0\]"):
        rollout(np.zeros(shape))


@pytest.mark.parametrize("residual", [-0.1, 1.1])
def test_a_share_out_of_range_is_refused(residual):
    with pytest.raises(ValueError, match="residual must be from 0 to 1"):
        rollout(np.zeros((1, 2, 2)), residual)
