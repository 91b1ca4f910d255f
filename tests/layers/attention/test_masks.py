from __future__ import annotations

import numpy as np
from arrays import to_numpy

from keras_transformers.layers import causal_mask, combine, padding_mask, window_mask
from keras_transformers.layers.attention.masks import true_first


def test_padding_mask_takes_numbers_and_booleans():
    numbers = np.array([[1, 2, 0], [1, 0, 0]])
    for mask in (padding_mask(numbers), padding_mask(numbers > 0)):
        np.testing.assert_array_equal(to_numpy(mask), [[[True, True, False]], [[True, False, False]]])


def test_causal_mask_of_a_whole_sequence_is_lower_triangular():
    positions = np.arange(4)[None]
    np.testing.assert_array_equal(to_numpy(causal_mask(positions, positions))[0], np.tril(np.ones((4, 4), bool)))


def test_causal_mask_of_one_step_depends_on_the_row():
    mask = to_numpy(causal_mask(np.array([[0], [2]]), np.arange(4)[None]))
    np.testing.assert_array_equal(mask, [[[True, False, False, False]], [[True, True, True, False]]])


def test_window_mask_of_several_steps_depends_on_the_row():
    mask = to_numpy(window_mask(np.array([[0, 1], [3, 4]]), np.arange(5)[None], 1)).astype(int)
    np.testing.assert_array_equal(mask, [[[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]], [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]])
    np.testing.assert_array_equal(to_numpy(window_mask(np.arange(3)[None], np.arange(3)[None], 0))[0], np.eye(3))


def test_combine_is_the_conjunction():
    positions = np.arange(3)[None]
    mask = combine(None, causal_mask(positions, positions), padding_mask(np.array([[1, 0, 1]])))
    expected = [[[True, False, False], [True, False, False], [True, False, True]]]
    np.testing.assert_array_equal(to_numpy(mask), expected)
    assert combine(None, None) is None


def test_columns_in_front():
    flags = np.array([[True, False, True], [False, False, False]])
    assert to_numpy(true_first(flags)).tolist() == [[0, 2, 1], [0, 1, 2]]
