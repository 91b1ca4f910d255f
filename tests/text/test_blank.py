"""The pattern of blank texts: what `str.strip` leaves nothing of."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.text.blank import BLANK


@pytest.mark.integration
def test_every_character_is_blank_as_python_strips_it():
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    blank = tf.strings.regex_full_match(characters, BLANK).numpy().tolist()
    differing = [
        character for character, is_blank in zip(characters, blank, strict=True) if is_blank == bool(character.strip())
    ]
    assert differing == []


def test_texts():
    texts = ["", " \t\n", "\u2003\u00a0\r", " a ", "\u200b"]
    assert tf.strings.regex_full_match(texts, BLANK).numpy().tolist() == [True, True, True, False, False]
