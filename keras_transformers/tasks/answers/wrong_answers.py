"""The wrong predictions of a report, with their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Report = dict[str, Any]
Answers = Iterable[dict[str, Any]]
Wrong = Mapping[int, tuple[float, dict[str, Any]]]  # by row: how bad the prediction is, and what the report shows
WORST = 20  # wrong predictions in a report


def worst(texts: Any, pairs: Any, wrong: Wrong) -> list[dict[str, Any]]:
    """Return the worst of the wrong predictions, with their texts.

    Example:

    >>> worst(["a", "b"], None, {0: (0.5, {"label": "x"}), 1: (0.9, {"label": "y"})})
    [{'text': 'b', 'label': 'y'}, {'text': 'a', 'label': 'x'}]
    """
    rows = sorted(wrong, key=lambda row: -wrong[row][0])[:WORST]
    named = {"text": texts}
    if pairs is not None:
        named["text_pair"] = pairs
    return [{name: _shown(column[row]) for name, column in named.items()} | wrong[row][1] for row in rows]


def _shown(text: Any) -> Any:
    """Return a text; join a list of words."""
    return text if isinstance(text, str) else " ".join(text)
