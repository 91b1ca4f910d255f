"""The shipped tables say what the installed library does."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from keras_transformers.text.graph.streams.code_points import shipped
from keras_transformers.text.graph.streams.probe import (
    BLANK,
    CAPITAL,
    CASELESS,
    CLOSED,
    CONTROL,
    DROP,
    LETTER,
    MARK,
    NEWLINE,
    NUMBER,
    OPEN,
    OTHER,
    PICTURE,
    PUNCTUATION,
    SMALL,
    SPACE,
    TABLES,
    VOWEL,
    WHITE,
    WORD,
    probe,
)


@pytest.mark.slow
def test_shipped_tables_equal_those_of_the_installed_library():
    fresh = probe()
    assert fresh.keys() == shipped().keys()
    different = [name for name in fresh if not np.array_equal(fresh[name], shipped()[name])]
    assert not different, "the library changed: run `python -m keras_transformers.text.graph.streams.probe`"


def test_tables_are_small():
    assert TABLES.stat().st_size < 98_304


@pytest.mark.parametrize(
    ("table", "point", "value"),
    [
        ("clean", 0x00, DROP),
        ("clean", 0xFFFD, DROP),
        ("clean", 0x09, SPACE),
        ("clean", 0x41, 0),
        ("chinese", 0x4E2D, 1),
        ("chinese", 0xAC00, 0),
        ("mark", 0x0301, 1),
        ("mark", 0x0903, 0),
        ("accent", 0x0301, 1),
        ("accent", 0x0903, 1),
        ("accent", 0x0061, 0),
        ("split", 0x20, WHITE),
        ("split", 0x2D, PUNCTUATION),
        ("split", 0x61, WORD),
        ("word", 0x5F, 1),
        ("word", 0x2D, 0),
        ("regex", 0x41, LETTER),
        ("regex", 0xB2, NUMBER),
        ("regex", 0x5F, OTHER),
        ("regex", 0x200B, OTHER),
        ("regex", 0x85, BLANK),
        ("regex", 0xA0, BLANK),
        ("regex", 0x0D, NEWLINE),
        ("letter_case", 0x41, CAPITAL),
        ("letter_case", 0x1C5, CAPITAL),
        ("letter_case", 0x61, SMALL),
        ("letter_case", 0x4E2D, CASELESS),
        ("letter_case", 0x301, CASELESS),
        ("letter_case", 0x31, 0),
        ("numeric", 0x663, 1),
        ("numeric", 0x41, 0),
        ("cluster", 0x301, MARK),
        ("cluster", 0x903, MARK),
        ("cluster", 0x200B, CONTROL),
        ("cluster", 0xAE, PICTURE),
        ("cluster", 0x1161, VOWEL),
        ("cluster", 0xAC00, OPEN),
        ("cluster", 0xAC01, CLOSED),
    ],
)
def test_known_code_points(table, point, value):
    assert shipped()[table][point] == value


def test_ranks_follow_the_canonical_combining_classes():
    marks = [chr(point) for point in np.flatnonzero(shipped()["combining"])]
    pairs = {(unicodedata.combining(mark), int(shipped()["combining"][ord(mark)])) for mark in marks}
    classes, ranks = zip(*sorted(pairs), strict=True)
    assert len(marks) > 800
    assert list(ranks) == list(range(1, len(ranks) + 1)) and len(set(classes)) == len(classes)
