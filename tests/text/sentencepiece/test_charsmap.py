"""Precompiled normalisers: rules to a double array and back, applied as the library applies them."""

from __future__ import annotations

import pytest
from tokenizers import normalizers

from keras_transformers.text.sentencepiece import charsmap

RULES = {"ﬁ": "fi", "\t": " ", "a": "", "ab": "x", "é": "e", "日本": "Japan", "\U0001f600": ":)"}


def test_a_double_array_holds_any_rules():
    data = charsmap.compile_rules(RULES)
    assert charsmap.rules(data, 100) == RULES
    assert charsmap.rules(data, 3) == {key: text for key, text in RULES.items() if len(key.encode()) <= 3}
    precompiled = normalizers.Precompiled(data).normalize_str
    assert precompiled("ﬁ\té\U0001f600 z") == "fi e:) z"


def test_every_rule_of_one_letter_among_thousands():
    """More children at one node than a block of the array has units, so that bases must be searched for."""
    rules = {chr(point): f"{point:x}" for point in range(0x4E00, 0x5600)}
    precompiled = normalizers.Precompiled(charsmap.compile_rules(rules)).normalize_str
    assert [precompiled(letter) for letter in rules] == list(rules.values())


def test_a_rule_that_is_no_text():
    data = charsmap.compile_rules({"a": "x"}).replace(b"x\0", b"\xff\0")
    with pytest.raises(ValueError, match="has a rule that is not valid UTF-8"):
        charsmap.rules(data, 5)


@pytest.mark.integration
def test_rules_of_a_normaliser():
    """What NFKC does to single characters, and to a letter with its marks, comes back from the double array."""
    nfkc = normalizers.NFKC().normalize_str
    rules = charsmap.rules_of(nfkc)
    assert (rules["ﬁ"], rules["e\u0301"], rules["ẹ\u0302"], rules["\u3000"]) == ("fi", "é", "ệ", " ")
    assert "a" not in rules and "é" not in rules
    data = charsmap.compile_rules(rules)
    assert charsmap.rules(data, 100) == rules
    precompiled = normalizers.Precompiled(data).normalize_str
    characters = [chr(i) for i in range(0x20, 0x3400)]
    assert [precompiled(c) for c in characters] == [nfkc(c) for c in characters]


@pytest.mark.parametrize("data", [b"", b"\x08\x00\x00\x00\x00", b"\x03\x00\x00\x00abc"])
def test_broken_rules(data):
    with pytest.raises(ValueError, match="The precompiled normaliser has"):
        charsmap.rules(data, 5)
