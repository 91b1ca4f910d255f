"""What counts as a size, a token id, a number."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.utils.number_checks import is_count, is_finite, is_number, is_size, is_token_id

SIZES = [1, np.int64(3), np.array(3)]
NO_SIZES = [0, -1, True, np.bool_(True), 1.0, "1", None, [3], np.array([3]), np.array([1, 2]), tf.constant(2.0)]


@pytest.mark.parametrize(("value", "expected"), [*((size, True) for size in SIZES), *((it, False) for it in NO_SIZES)])
def test_sizes(value, expected):
    assert is_size(value) is expected


@pytest.mark.parametrize("value", [0, 8, np.int32(3), np.uint8(0)])
def test_token_ids(value):
    assert is_token_id(value, 9)


@pytest.mark.parametrize("value", [-1, 9, 1.0, True, "1", None, [1]])
def test_what_is_no_token_id(value):
    assert not is_token_id(value, 9)


def test_counts():
    assert all(map(is_count, [0, *SIZES]))
    assert not any(map(is_count, [-1, False, 0.0, "0", None, [0]]))


def test_finite_numbers():
    assert all(map(is_finite, (0, -1.5, np.float32(1e38), np.float64(1e300), np.int64(3))))
    assert not any(map(is_finite, (float("nan"), np.inf, np.float32("-inf"), 10**400, True, "1", None)))


def test_numbers():
    assert all(map(is_number, (0, -1.5, float("nan"), 10**400, np.float32(1), np.int8(1))))
    assert not any(map(is_number, (True, False, None, "1", [1], 1j)))
