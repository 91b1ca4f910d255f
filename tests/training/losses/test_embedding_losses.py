"""Losses of sentence embeddings, beside their formulas in numpy and, marked parity, in torch."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.training.losses.embedding_losses import (
    CosineError,
    MultipleNegativesRanking,
    Triplet,
    VectorDistance,
    cosine,
)


def vectors(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@pytest.mark.parity
@pytest.mark.parametrize("negatives", [0, 1, 3])
def test_ranking_is_that_of_sentence_transformers(negatives):
    """`MultipleNegativesRankingLoss`: all second texts, then all further ones, are candidates of each first text."""
    import torch
    from torch.nn import functional

    groups = torch.tensor(vectors(5, 2 + negatives, 8))
    unit = functional.normalize(groups, dim=-1)
    candidates = torch.cat([unit[:, place] for place in range(1, 2 + negatives)])
    expected = functional.cross_entropy(20.0 * unit[:, 0] @ candidates.T, torch.arange(5))
    assert float(MultipleNegativesRanking()(np.arange(5), groups.numpy())) == pytest.approx(float(expected), rel=1e-5)


def test_groups_of_one_label_are_not_told_apart():
    groups = vectors(4, 2, 8)
    groups[3, 1] = groups[0, 1]  # the same second text: a candidate that no loss can tell from the right one
    loss = MultipleNegativesRanking(scale=1.0)
    blind, aware = (float(loss(np.array(y), groups)) for y in ([0, 1, 2, 3], [0, 1, 2, 0]))
    unit = groups / np.linalg.norm(groups, axis=-1, keepdims=True)
    scores = unit[:, 0] @ unit[:, 1].T
    scores[0, 3] = scores[3, 0] = -np.inf
    assert aware == pytest.approx(np.mean(np.log(np.exp(scores).sum(1)) - np.diag(scores)), rel=1e-5)
    assert aware < blind


def test_a_row_without_target_counts_for_nothing():
    groups = vectors(3, 2, 8)
    for loss, labels, some in [
        (CosineError(), [0.3, np.nan, -0.1], [0, 2]), (MultipleNegativesRanking(), [0, -1, 2], None),
        (VectorDistance(), None, None),
    ]:  # fmt: skip
        if some:
            expected = float(loss(np.array(labels)[some], groups[some]))
            assert float(loss(np.array(labels), groups)) == pytest.approx(expected, rel=1e-6)
    assert float(CosineError()(np.full(3, np.nan), groups)) == 0.0
    assert float(MultipleNegativesRanking()(np.full(3, -1), groups)) == 0.0
    assert float(Triplet()(np.full(3, -1), vectors(3, 3, 8))) == 0.0
    targets = vectors(3, 8)
    targets[1] = np.nan
    expected = 0.5 * np.square(targets[[0, 2]] - groups[[0, 2], 0]).sum(-1).mean()
    assert float(VectorDistance()(targets, groups[:, 0])) == pytest.approx(expected, rel=1e-5)


def test_the_distance_of_unit_vectors_is_one_minus_their_cosine():
    one, other = vectors(2, 6, 8)
    one, other = (array / np.linalg.norm(array, axis=-1, keepdims=True) for array in (one, other))
    expected = 1 - np.mean(np.array(cosine(one, other)))
    assert float(VectorDistance()(one, other)) == pytest.approx(expected, rel=1e-5)


def test_states_of_tokens_are_targets_too():
    states, targets = vectors(2, 3, 4), vectors(2, 3, 4) + 1
    targets[0, 1] = np.nan
    squares = np.square(states - targets).sum(-1)
    assert float(VectorDistance()(targets, states)) == pytest.approx(0.5 * np.nanmean(squares), rel=1e-5)


@pytest.mark.parity
def test_triplet_is_that_of_torch():
    import torch

    groups = torch.tensor(vectors(6, 3, 8))
    expected = torch.nn.functional.triplet_margin_loss(*groups.unbind(1), margin=1.0)
    assert float(Triplet()(np.arange(6), groups.numpy())) == pytest.approx(float(expected), rel=1e-4)


def test_the_gradient_of_equal_texts_is_finite():
    import keras

    if keras.backend.backend() != "tensorflow":
        pytest.skip("takes gradients by TensorFlow")
    import tensorflow as tf

    for loss, groups in ((Triplet(), np.ones((2, 3, 4), "float32")), (CosineError(), np.zeros((2, 2, 4), "float32"))):
        groups = tf.Variable(groups)
        with tf.GradientTape() as tape:
            value = loss(np.zeros(2), groups)
        assert np.isfinite(tape.gradient(value, groups).numpy()).all()


@pytest.mark.parametrize(
    "loss", [MultipleNegativesRanking(scale=7.0), Triplet(margin=0.2), CosineError(), VectorDistance()]
)
def test_options_are_kept(loss):
    again = type(loss).from_config(loss.get_config())
    assert again.get_config() == loss.get_config()
