from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.layers.attention.cache import read_cache, write_cache


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("in_place", [False, True])
def test_each_row_is_written_where_it_belongs(heads, in_place):
    cache, new = normal(2, heads, 5, 4), normal(2, heads, 2, 4, seed=1)
    positions, expected = np.array([[1, 2], [4, 0]]), cache.copy()
    for row, places in enumerate(positions):
        expected[row][:, places] = new[row]
    import keras

    given = keras.ops.convert_to_tensor(cache) + 0.0
    written = write_cache({"key": new}, {"key": given}, positions, in_place)["key"]
    np.testing.assert_array_equal(to_numpy(written), expected)


def test_rows_are_read_from_their_places():
    part, positions = normal(2, 1, 5, 4), np.array([[3, 0, 1], [4, 4, 2]])
    expected = np.stack([row[0, places] for row, places in zip(part, positions, strict=True)])
    np.testing.assert_array_equal(to_numpy(read_cache(part, positions)), expected)
