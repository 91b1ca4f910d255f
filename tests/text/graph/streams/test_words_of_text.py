"""The words of texts in many scripts, by hand; `graph/outputs/test_place_words.py` has the graph beside it."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.text.graph.streams.words_of_text import place_words, word_begins, word_classes


def words(text: str) -> list[str]:
    points = np.array([ord(letter) for letter in text], np.int64)
    found: list[str] = []
    places = word_begins(points, np.arange(len(points)) == 0)[:2]
    for letter, begins, is_gap in zip(text, *places, strict=True):
        if begins:
            found.append(letter)
        elif not is_gap:
            found[-1] += letter
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []), (" \t\u3000\xa0\x1c\u2028", []), ("Ann left\u3000Oslo\xa0.", "Ann left Oslo ."),
        ("Don't go to the U.S., x_y", "Don ' t go to the U . S . , x _ y"), ("3.14 B2B 5km", "3 . 14 B2B 5km"),
        ("我在ABC公司3届", "我 在 ABC 公 司 3 届"), ("東京タワーで、ｱﾊﾟｰﾄ", "東 京 タワー で 、 ｱﾊﾟｰﾄ"),
        ("人々は", "人 々 は"), ("ไม่มีน้ำ ๑๒", "ไ ม่ มี น้ำ ๑๒"), ("ជំរាប", "ជំ រា ប"), ("한국어는 AI", "한국어는 AI"),
        ("हिन्दी में", "हिन्दी में"), ("cafe\u0301 e\u00adf", "cafe\u0301 e\u00adf"), ("\u0301a", "\u0301 a"),
        ("👩‍👩‍👧👍🏽 1️⃣", "👩‍👩‍👧 👍🏽 1️⃣"), ("🇳🇴!", "🇳🇴 !"), ("a\u200d😀", "a\u200d 😀"), ("5€ ©", "5 € ©"),
        ("\ufeffAnn\u200f \u200bleft\u200b", "Ann left"), ("ន\u200bពេញ", "ន ពេ ញ"),
    ],
)  # fmt: skip
def test_words(text, expected):
    assert words(text) == (expected.split(" ") if isinstance(expected, str) else expected)


def test_white_space_is_what_python_strips_and_what_has_no_width():
    spaces = [point for point in range(0x110000) if chr(point).isspace() or chr(point) in "\u200b\u200e\u200f\ufeff"]
    assert np.flatnonzero(word_classes() == word_classes()[ord(" ")]).tolist() == spaces


def placed(text: str, spans: list[tuple[int, int]], words: list[int]) -> list[tuple[str, int]]:
    found = place_words([text], np.array([spans], np.int32), np.array([words], np.int32))
    pairs = zip(found["offsets"][0].tolist(), found["word_ids"][0].tolist(), strict=True)
    return [(text[start:end], word) for (start, end), word in pairs]


def test_tokens_and_their_words():
    """A token over two words; a space before a word that the tokenizer takes to it, and one that it does not."""
    assert placed("在北京 ", [(0, 2), (2, 4)], [0, 0]) == [("在北", 1), ("京", 3)]
    assert placed("a b", [(0, 1), (1, 2), (2, 3)], [0, 1, 1]) == [("a", 1), ("", 2), ("b", 2)]
    assert placed("a b", [(0, 1), (1, 2), (2, 3)], [0, 1, 2]) == [("a", 1), ("", -1), ("b", 2)]
    assert placed("a  b", [(0, 1), (1, 3), (3, 4)], [0, 1, 1]) == [("a", 1), ("", -1), ("b", 2)]
    assert placed(" \n", [(0, 1), (1, 2)], [0, 0]) == [("", -1), ("", -1)]
    assert placed("北京", [(0, 2), (1, 2)], [0, 0]) == [("北", 1), ("京", 2)]  # bytes of one character in two tokens
    assert placed("", [(0, 0)], [-1]) == [("", -1)]
    # An unknown token had the mark of byte order and a letter, which was one word, and the rest of "Ann" another.
    assert placed("\ufeffAnn\u200b", [(0, 2), (2, 4), (4, 5)], [0, 0, 0]) == [("A", 1), ("nn", 1), ("", -1)]


def test_marks_that_a_tokenizer_strips_stay_with_their_letter():
    """BERT's normaliser strips them: an entity ended before the last vowel of its name."""
    assert placed("दिल्ली ते है", [(0, 6), (7, 8), (10, 11)], [0, 1, 2]) == [("दिल्ली", 1), ("ते", 2), ("है", 3)]
    assert placed("cafe\u0301", [(0, 4)], [0]) == [("cafe\u0301", 1)]
    assert placed("e\u0301e", [(0, 1), (1, 2), (2, 3)], [0, 0, 0])[0] == ("e\u0301", 1)
    assert placed("a \u0301", [(0, 1)], [0]) == [("a", 1)]


def test_rows_do_not_mix():
    texts, spans = ["a", "", "\u0301b"], np.array([[[0, 1]], [[0, 0]], [[0, 2]]], np.int32)
    found = place_words(texts, spans, np.array([[0], [-1], [0]], np.int32))
    assert found["word_ids"].tolist() == [[1], [-1], [2]] and found["offsets"].tolist() == spans.tolist()
    assert place_words([], np.zeros((0, 1, 2), np.int32), np.zeros((0, 1), np.int32))["word_ids"].shape == (0, 1)
