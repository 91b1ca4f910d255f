"""Shapes that are known in part are compared."""

from __future__ import annotations

import pytest

from keras_transformers.utils.tensor_types import may_be_equal


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [((2,), (2,), True), ((None,), (2,), True), ((2, 1), (2,), False), ((2, 1), (3, 1), False), ((), (), True)],
)
def test_shapes_that_may_be_equal(one, other, expected):
    assert may_be_equal(one, other) is expected
