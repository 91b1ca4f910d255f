import numpy as np
import pytest

from keras_transformers.data.sources.rows import Ragged, Rows


def test_padding_fills_and_cuts_on_the_right():
    ragged = Ragged.of([[1, 2, 3], [], [4]])
    assert ragged.padded(2, fill=9).tolist() == [[1, 2], [9, 9], [4, 9]]
    assert ragged[np.array([2, 0])].padded(4, fill=9).tolist() == [[4, 9, 9, 9], [1, 2, 3, 9]]


def test_rows_without_tokens_are_all_padding():
    rows = Rows.of([[], []])
    assert rows.padded(2, pad_id=7)["token_ids"].tolist() == [[7, 7], [7, 7]]
    assert not rows.padded(2, pad_id=7)["padding_mask"].any()


def test_unpadded_is_the_inverse_of_padded():
    rows = Ragged.of([[1, 2, 3], [4]])
    again = Ragged.unpadded(rows.padded(5, fill=0), np.arange(5) < rows.lengths[:, None])
    assert again.padded(5, fill=0).tolist() == rows.padded(5, fill=0).tolist()


def test_inputs_are_int32_and_name_what_the_model_takes():
    inputs = Rows.of([[2, 5, 3]], segment_ids=[[0, 1, 1]]).padded(4, pad_id=0)
    assert {name: array.dtype for name, array in inputs.items()} == dict.fromkeys(inputs, np.int32)
    assert inputs["segment_ids"].tolist() == [[0, 1, 1, 0]]
    assert inputs["padding_mask"].tolist() == [[1, 1, 1, 0]]
    assert "segment_ids" not in Rows.of([[2, 3]], segment_ids=None).padded(4, pad_id=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token_ids": []}, "empty data set"),
        ({"token_ids": [[1], [2]], "labels": [1]}, "1 labels for 2 texts"),
        ({"token_ids": [[1], [2]], "segment_ids": [[0], [0, 0]]}, "one segment a token"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Rows.of(**arguments)
