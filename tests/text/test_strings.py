from __future__ import annotations

import numpy as np

from keras_transformers.text.strings import decoded


def test_bytes_of_any_shape_are_decoded():
    column = np.array([[b"a", "ä日".encode()], [b"", b"\n"]], object)
    assert decoded(column).tolist() == [["a", "ä日"], ["", "\n"]]
    assert decoded(np.zeros((0,), object)).shape == (0,)


def test_numbers_stay():
    column = np.array([1.5, 2.0], "float32")
    assert decoded(column) is column
