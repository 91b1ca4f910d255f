"""Unicode's normal forms in ops give the library's text."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import normalizers

from keras_transformers.text.graph.normalizers.canonical import Compose, Decompose
from keras_transformers.text.graph.streams.code_points import shipped
from keras_transformers.text.graph.streams.probe import SCALARS

FORMS = {"NFC": (Compose, normalizers.NFC()), "NFD": (Decompose, normalizers.NFD())}
FORMS |= {"NFKC": (Compose, normalizers.NFKC()), "NFKD": (Decompose, normalizers.NFKD())}
MARKS = [chr(point) for point in np.flatnonzero(shipped()["combining"])]
COMPOSITES = [chr(point) for point in np.flatnonzero(shipped()["composite"])]
COMMON = [*"aeioucsdAEO", "\u0300", "\u0301", "\u0302", "\u0308", "\u0323", "\u0327", "\u0328", "\u0338", "\u0345"]
JAMO = ["\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\u0dd9", "\u0dcf", "\u0dca", "\u212b", "\u0344", "\u0958"]
PLAIN = ["ﬁ", "²", "Å", "㌀", "ｶ", "ﾞ", "\ufdfa", "\u1e9b", "\u0323", "…"]


@pytest.fixture(scope="module", params=FORMS, ids=str)
def form(request):
    component, library = FORMS[request.param]
    normalize = component({"type": request.param})

    def run(texts: list[str]) -> list[str]:
        points = normalize(tf.strings.unicode_decode(tf.constant(texts), "UTF-8"))
        return [text.decode() for text in tf.strings.unicode_encode(points, "UTF-8").numpy()]

    return run, library.normalize_str


def test_random_letters_and_marks(form):
    run, library = form
    chance = random.Random(6)
    alphabets = [MARKS, COMPOSITES, COMMON, COMMON, COMMON, JAMO, PLAIN]
    texts = ["".join(chance.choice(chance.choice(alphabets)) for _ in range(chance.randrange(9))) for _ in range(5_000)]
    assert run(texts) == [library(text) for text in texts]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("", ["", "", "", ""]),
        ("\u0301a", ["\u0301a"] * 4),
        ("e\u0301", ["\u00e9", "e\u0301", "\u00e9", "e\u0301"]),
        ("\u1100\u1161\u11a8", ["\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"]),
        ("o\u0328\u0304", ["\u01ed", "o\u0328\u0304", "\u01ed", "o\u0328\u0304"]),
        ("a\u0301\u0323", ["\u1ea1\u0301", "a\u0323\u0301", "\u1ea1\u0301", "a\u0323\u0301"]),
        ("ﬁ²", ["ﬁ²", "ﬁ²", "fi2", "fi2"]),
        ("\u1e9b\u0323", ["\u1e9b\u0323", "\u017f\u0323\u0307", "\u1e69", "s\u0323\u0307"]),
    ],
)
def test_known_text(text, forms):
    """The last row is an example of Unicode Standard Annex 15."""
    points = tf.strings.unicode_decode([text], "UTF-8")
    for name, expected in zip(("NFC", "NFD", "NFKC", "NFKD"), forms, strict=True):
        found = tf.strings.unicode_encode(FORMS[name][0]({"type": name})(points), "UTF-8").numpy()[0].decode()
        assert found == expected, name


def test_marks_do_not_reach_into_another_text(form):
    run, _ = form
    assert run(["a", "\u0301", "", "\u1100", "\u1161"]) == ["a", "\u0301", "", "\u1100", "\u1161"]


@pytest.mark.slow
def test_every_code_point(form):
    run, library = form
    blocks = ["x".join(map(chr, block)) for block in np.array_split(SCALARS, 500)]
    assert run(blocks) == [library(block) for block in blocks]
