"""Tables of code points: look-ups, replacements and their composition."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import normalizers

from keras_transformers.text.graph.streams.code_points import TOKEN, Mapping, PointTable, Replacer
from keras_transformers.text.graph.streams.probe import UNICODE_SIZE

TEXTS = ["ÀÉ ß İ", "a\u0301\u0316", "", "가각 ①", "\u0000\u00ad\ttab"]


def mapped(mapping: Mapping, texts: list[str]) -> list[str]:
    points = tf.strings.unicode_decode(texts, "UTF-8")
    return [text.decode() for text in tf.strings.unicode_encode(Replacer(mapping)(points), "UTF-8").numpy()]


def test_every_entry_and_that_of_added_tokens():
    entries = np.random.default_rng(0).integers(-9, 9, UNICODE_SIZE)
    entries[256 * 7 : 256 * 4000] = 3  # shared pages
    table = PointTable(entries, token=-5)
    assert np.array_equal(table(tf.range(UNICODE_SIZE)).numpy(), entries)
    assert table(tf.constant([TOKEN, TOKEN + 1, TOKEN + 255, TOKEN + 70_000])).numpy().tolist() == [-5] * 4
    assert table.pages.shape[0] < UNICODE_SIZE


@pytest.mark.parametrize(
    ("name", "normalizer"), [("lower", normalizers.Lowercase()), ("nmt", normalizers.Nmt())], ids=["lower", "nmt"]
)
def test_shipped_mappings_are_the_librarys(name, normalizer):
    assert mapped(Mapping.shipped(name), TEXTS) == [normalizer.normalize_str(text) for text in TEXTS]


def test_cleaning_and_dropping():
    assert mapped(Mapping.cleaning(), ["a\tb\u0000\u00adc\u3000"]) == ["a bc "]
    assert mapped(Mapping.dropping("mark"), ["a\u0301\u0316é"]) == ["aé"]


@pytest.mark.integration
def test_composition_is_one_after_the_other():
    decompose, drop, lower = Mapping.shipped("decompose"), Mapping.dropping("mark"), Mapping.shipped("lower")
    assert mapped(decompose.then(drop).then(lower), ["ÀÉ Ệ ß"]) == ["ae e ß"]
    assert mapped(lower.then(decompose), TEXTS) == mapped(decompose, mapped(lower, TEXTS))


def test_added_tokens_are_not_replaced():
    everything = Mapping(np.arange(128), np.full(128, 2), np.tile([ord("x"), ord("y")], 128))
    points = tf.ragged.constant([[97, TOKEN + 98, 1000], []], tf.int32)
    assert Replacer(everything)(points).to_list() == [[120, 121, TOKEN + 98, 1000], []]
