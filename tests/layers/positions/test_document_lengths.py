import numpy as np
from arrays import to_numpy
from layer_checks import check_layer

from keras_transformers.layers import DocumentLengths

DOCUMENTS = np.array([[1, 1, 2, 2, 2, 0, 0], [7, 7, 7, 7, 7, 7, 7], [0, 0, 1, 1, 2, 1, 0]])


def test_layer(tmp_path):
    check_layer(DocumentLengths, {}, {"documents": DOCUMENTS}, tmp_path)


def test_padding_is_short_however_much_there_is():
    found = to_numpy(DocumentLengths()(DOCUMENTS))
    assert found.tolist() == [[2, 2, 3, 3, 3, 1, 1], [7] * 7, [1, 1, 2, 2, 1, 1, 1]]
