"""What the table of a plan says of the text that is held out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from zoo.scratch.plan_table import _share


@pytest.mark.parametrize(
    ("asked", "characters", "held_out", "expected"),
    [
        (0.05, 1_115_394, 59_000, "5.3% of the text, spread over the corpus"),
        (0.05, 8_000, 1_024, "12.8% of the text, spread over the corpus; 5.0% was asked for"),
        (0.05, 2_000_000_000, 5_000_000, "0.2% of the text, spread over the corpus; 5.0% was asked for"),
    ],
)
def test_another_share_than_was_asked_for_is_told(asked, characters, held_out, expected):
    corpus = None, SimpleNamespace(num_characters=held_out), SimpleNamespace(characters=characters)
    assert _share(SimpleNamespace(settings=SimpleNamespace(held_out=asked), corpus=corpus)) == expected
