"""Spaces at the ends of tokens, by hand; `test_offsets.py` compares trimmed offsets with the library's."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import models

from keras_transformers.text.graph.outputs.trim import Trim, spaces_at_ends
from keras_transformers.text.graph.streams.tracking import tracked


def trim_of(*flags: bool, tokens: tuple[str, ...] = ("a",)) -> Trim:
    library = Library(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token=tokens[0]))
    return Trim([{"add_prefix_space": flag} for flag in flags], {"type": "WordLevel"}, library)


def test_spaces_of_a_vocabulary():
    """U+001C is white space to Python, but not to the library."""
    tokens = ("a", "Ġa", "ĠĠ", "a \t", "\u3000Ġa\u0085", "\x1ca", "▁a")
    ends = trim_of(True, tokens=tokens).ends.numpy().tolist()
    assert ends == [[0, 0], [1, 0], [2, 2], [0, 2], [2, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("flags", "is_first", "expected"),
    [
        ([False], False, [[4, 8], [8, 8], [6, 7], [1, 1]]),
        ([False], True, [[4, 8], [8, 8], [6, 7], [1, 1]]),
        ([True], False, [[4, 8], [8, 8], [6, 7], [0, 1]]),
        ([True], True, [[3, 8], [8, 8], [6, 7], [0, 1]]),
        ([False, False], False, [[5, 8], [8, 8], [7, 7], [1, 1]]),
    ],
)
def test_offsets_move_over_spaces(flags, is_first, expected):
    offsets = tf.constant([[3, 8], [3, 8], [4, 8], [0, 1]])
    spaces = tf.constant([[1, 0], [5, 5], [2, 1], [1, 0]])
    assert trim_of(*flags)(offsets, spaces, tf.fill([4], is_first)).numpy().tolist() == expected


def test_spaces_of_spans():
    points = tracked(tf.strings.unicode_decode([" a  b", "  "], "UTF-8"))
    is_blank = points.values == ord(" ")
    first, stop = tf.constant([0, 0, 2, 5, 5]), tf.constant([4, 1, 5, 7, 6])
    assert spaces_at_ends(points, is_blank, first, stop).numpy().tolist() == [[1, 2], [1, 1], [2, 0], [2, 2], [1, 1]]
