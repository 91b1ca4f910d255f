"""The normaliser in ops gives the library's text, code point by code point and across neighbours."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import normalizers

from keras_transformers.text.graph.normalizers.normalize import BertNormalizer, strip_accents
from keras_transformers.text.graph.streams.probe import SCALARS

SETTINGS = [
    (True, True, None, True),
    (True, False, False, False),
    (False, True, True, False),
    (False, False, None, True),
]
NAMES = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")


def normalize(settings: tuple, texts: list[str]) -> list[str]:
    graph = BertNormalizer(dict(zip(NAMES, settings, strict=True)))
    points = graph(tf.strings.unicode_decode(tf.constant(texts), "UTF-8"))
    return [text.decode() for text in tf.strings.unicode_encode(points, "UTF-8").numpy()]


@pytest.mark.integration(
    quick=["(False, False, None, True)", "(False, True, True, False)", "(True, False, False, False)"]
)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_text_equals_the_library(settings):
    texts = ["Ünïcödé İI", "中a文", "\u00e4\u0316\U0001d165\U0001d16d\u0301", "", "a\x00b\u200d\tc", "가각"]
    library = normalizers.BertNormalizer(**dict(zip(NAMES, settings, strict=True)))
    assert normalize(settings, texts) == [library.normalize_str(text) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_code_point(settings):
    library = normalizers.BertNormalizer(**dict(zip(NAMES, settings, strict=True)))
    blocks = ["a".join(map(chr, block)) for block in np.array_split(SCALARS, 500)]
    assert normalize(settings, blocks) == [library.normalize_str(block) for block in blocks]


@pytest.mark.integration
def test_canonical_order_is_restored_before_accents_go():
    # U+1D165 (class 216) and U+1D16D (226) outlive the strip; U+0334 (class 1) between them does not.
    swapped, ordered = "a\U0001d16d\U0001d165", "a\U0001d165\U0001d16d"
    assert normalize((True, True, None, True), [swapped, ordered]) == [ordered, ordered]
    assert normalize((True, True, False, True), [swapped]) == [swapped]
    # Marks of different rows, or with a letter between them, do not change places.
    apart = ["\U0001d16d", "\U0001d165", "\U0001d16db\U0001d165"]
    assert normalize((True, True, None, True), apart) == apart


@pytest.mark.slow
def test_strip_accents_drops_the_marks_of_the_library():
    """More than `BertNormalizer` does: U+0903 is a spacing mark, U+0488 an enclosing one."""
    blocks = ["a\u0903b\u0488c\u0301", *("a".join(map(chr, block)) for block in np.array_split(SCALARS, 500))]
    points = strip_accents({})(tf.strings.unicode_decode(tf.constant(blocks), "UTF-8"))
    ours = [text.decode() for text in tf.strings.unicode_encode(points, "UTF-8").numpy()]
    assert ours[0] == "abc"
    assert ours == [normalizers.StripAccents().normalize_str(block) for block in blocks]
