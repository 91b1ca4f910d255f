"""Which options a file of conversations takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.cli.conversations_file import CONVERSATIONS, learned_from


def test_a_file_of_conversations_has_no_columns():
    path, nothing = Path("chats.jsonl"), {"text": None, "label": None}
    assert learned_from(None, path, "text", None, "classification", nothing) == (path, CONVERSATIONS, "causal_lm")
    assert learned_from(path, None, 0, None, "classification", {"text": 0}) == (path, 0, "classification")
    with pytest.raises(ValueError, match="no columns of texts and labels: received --text-pair, --label"):
        learned_from(None, path, "text", None, "classification", {"text": None, "text_pair": "a", "label": 1})
