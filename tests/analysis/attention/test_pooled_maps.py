from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.analysis.attention.pooled_maps import group_bounds, pooled


@pytest.mark.parametrize(("length", "most"), [(1, 1), (5, 5), (5, 9), (100, 7), (512, 24)])
def test_groups_cover_all_tokens_once_and_are_of_like_size(length, most):
    groups = group_bounds(length, most)

    assert len(groups) == min(length, most)
    assert [place for start, end in groups for place in range(start, end)] == list(range(length))
    sizes = [end - start for start, end in groups]
    assert max(sizes) - min(sizes) <= 1


def test_rows_are_means_and_columns_sums():
    scores = np.random.default_rng(0).dirichlet(np.ones(10), (2, 9))

    small = pooled(scores, 3)

    assert small.shape == (2, 3, 3)
    np.testing.assert_allclose(small.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(small[1, 0, 2], scores[1, :3, 6:].sum(-1).mean(), rtol=1e-5)


def test_short_texts_stay_as_they_are():
    scores = np.random.default_rng(0).random((2, 3, 4, 6)).astype("float32")

    np.testing.assert_allclose(pooled(scores, 6), scores, rtol=1e-6)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="most must be at least 1"):
        pooled(np.eye(3), 0)
