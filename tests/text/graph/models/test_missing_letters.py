"""Letters without an id: bytes, the unknown token, one for a run of them, or nothing."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.text.graph.models.missing_letters import MISSING, Missing, byte_ids

WORDS = tf.ragged.constant([[MISSING, MISSING, 7], [], [MISSING], [8, MISSING], [MISSING]], tf.int32)
LETTERS = tf.constant([ord(letter) for letter in "éx7ü8😀é"], tf.int32)
BYTES = list(range(100, 356))


def spelled(text: str) -> list[int]:
    return [BYTES[byte] for byte in text.encode()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"byte_ids": None, "unknown": 3, "fuse": False}, [[3, 3, 7], [], [3], [8, 3], [3]]),
        ({"byte_ids": None, "unknown": 3, "fuse": True}, [[3, 7], [], [3], [8, 3], [3]]),
        ({"byte_ids": None, "unknown": None, "fuse": False}, [[7], [], [], [8], []]),
        (
            {"byte_ids": BYTES, "unknown": 3, "fuse": True},
            [[*spelled("éx"), 7], [], spelled("ü"), [8, *spelled("😀")], spelled("é")],
        ),
    ],
    ids=["unknown", "fused", "left out", "bytes"],
)
def test_what_takes_their_place(options, expected):
    assert Missing(**options)(WORDS, LETTERS).to_list() == expected


def test_words_without_missing_letters_stay():
    words = tf.ragged.constant([[1, 2], []], tf.int32)
    assert Missing(None, 0, True)(words, tf.constant([97, 98])).to_list() == [[1, 2], []]


def test_ids_of_bytes():
    ids = byte_ids({"<0x00>": 5, "<0xFF>": 6, "<0xff>": 7})
    assert (ids[0], ids[255], len(ids)) == (5, 6, 256) and set(ids[1:255]) == {MISSING}
