"""Arrays of strings; blank ones are those that `str.strip` leaves nothing of."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.text.strings import BLANK, decoded


def test_bytes_of_any_shape_are_decoded():
    column = np.array([[b"a", "ä日".encode()], [b"", b"\n"]], object)
    assert decoded(column).tolist() == [["a", "ä日"], ["", "\n"]]
    assert decoded(np.zeros((0,), object)).shape == (0,)


def test_numbers_stay():
    column = np.array([1.5, 2.0], "float32")
    assert decoded(column) is column


@pytest.mark.integration
def test_every_character_is_blank_as_python_strips_it():
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    blank = tf.strings.regex_full_match(characters, BLANK).numpy().tolist()
    differing = [
        character for character, is_blank in zip(characters, blank, strict=True) if is_blank == bool(character.strip())
    ]
    assert differing == []


def test_blank_texts():
    texts = ["", " \t\n", "\u2003\u00a0\r", " a ", "\u200b"]
    assert tf.strings.regex_full_match(texts, BLANK).numpy().tolist() == [True, True, True, False, False]
