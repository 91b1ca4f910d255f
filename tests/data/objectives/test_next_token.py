import numpy as np
import pytest

from keras_transformers.data.objectives.next_token import NextToken
from keras_transformers.data.sources.next_token_rows import completions, next_tokens, with_end
from keras_transformers.data.sources.rows import Ragged, Rows

END, PAD = 1, 0


def test_labels_are_the_ids_shifted_by_one():
    rows = next_tokens(with_end(Ragged.of([[5, 6, 7], [8]]), END))
    inputs, labels = NextToken(10, pad_id=9)(rows, 4)
    assert inputs["token_ids"].tolist() == [[5, 6, 7, 9], [8, 9, 9, 9]]
    assert inputs["padding_mask"].tolist() == [[1, 1, 1, 0], [1, 0, 0, 0]]
    assert labels.tolist() == [[6, 7, END, -1], [END, -1, -1, -1]]
    assert all(array.dtype == np.int32 for array in (*inputs.values(), labels))


def test_a_cut_text_keeps_the_label_of_its_last_token():
    rows = next_tokens(Ragged.of([[2, 3, 4, 5, 6]]), max_length=3)
    assert rows.token_ids.padded(4, PAD).tolist() == [[2, 3, 4, 0]]
    assert rows.labels.padded(4, -1).tolist() == [[3, 4, 5, -1]]


def test_a_text_of_one_token_has_nothing_to_predict():
    assert next_tokens(Ragged.of([[], [3], [4, 5]])).token_ids.padded(2, PAD).tolist() == [[4, 0]]


@pytest.mark.parametrize("end_id", [END, None])
@pytest.mark.parametrize("max_length", [9, 12, 40])
def test_only_the_target_is_learnt_and_the_input_gives_way_on_the_left(end_id, max_length):
    rng = np.random.default_rng(0)
    inputs, targets = ([rng.integers(2, 99, rng.integers(1, n)).tolist() for _ in range(50)] for n in (20, 9))
    rows, cut = completions(Ragged.of(inputs), Ragged.of(targets), max_length, end_id)
    arrays, labels = NextToken(99)(rows, max_length)
    for i, (first, second) in enumerate(zip(inputs, targets, strict=True)):
        second = second + [end_id] * (end_id is not None)
        room = max_length + 1 - len(second)
        assert cut[i] == (len(first) > room)
        row = first[-room:] + second
        expected = [-1] * (len(row) - len(second) - 1) + second
        padding = max_length - len(expected)
        assert arrays["token_ids"][i].tolist() == row[:-1] + [PAD] * padding
        assert arrays["padding_mask"][i].tolist() == [1] * len(expected) + [0] * padding
        assert labels[i].tolist() == expected + [-1] * padding


@pytest.mark.parametrize(
    "first, second, end_id, message",
    [
        ([5], list(range(2, 12)), None, "target in row 1 has 10 tokens: expected at most max_length=9"),
        ([5], list(range(2, 11)), END, "target in row 1 has 10 tokens"),
        ([], [5], END, "input in row 1 has 0 tokens: expected at least one"),
        ([5], [], None, "target in row 1 has 0 tokens"),
    ],
)
def test_pairs_that_cannot_be_learnt(first, second, end_id, message):
    with pytest.raises(ValueError, match=message):
        completions(Ragged.of([[7], first]), Ragged.of([[8], second]), 9, end_id)


def test_pairs_have_two_parts():
    with pytest.raises(ValueError, match="2 inputs and 1 targets"):
        completions(Ragged.of([[7], [8]]), Ragged.of([[8]]), 9)


def test_an_empty_target_is_the_end_token():
    rows, _ = completions(Ragged.of([[7, 8]]), Ragged.of([[]]), 9, END)
    assert rows.labels.padded(3, -1).tolist() == [[-1, END, -1]]


def test_errors():
    rows = next_tokens(Ragged.of([[2, 3, 9]]))
    with pytest.raises(ValueError, match="from 2 to 9: expected 0 to 8"):
        NextToken(9).check(rows)
    with pytest.raises(ValueError, match="label for each token"):
        NextToken(9).check(Rows.of([[2, 3]]))
