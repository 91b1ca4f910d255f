"""docs/serving/runtimes.md: its table has the figures that `benchmarks/runtime_table.py` logged."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serving" / "runtimes.md").read_text(encoding="utf-8")
LOG = (ROOT / "benchmarks" / "runtime_table.jsonl").read_text(encoding="utf-8")


def test_the_table_is_what_was_logged():
    rows = [json.loads(line) for line in LOG.splitlines()]
    assert len(rows) == len({row[0] for row in rows}) > 6
    for row in rows:
        assert "| " + " | ".join(map(str, row)) + " |" in PAGE
    assert PAGE.count(" | ids | ") + PAGE.count(" | text | ") == len(rows) + 2  # and two rows of the first table


def test_what_is_not_rounded_is_equal_but_for_the_tokenizer_of_mediapipe():
    rows = [json.loads(line) for line in LOG.splitlines()]
    for name, _, _, labels, vectors, *_ in rows:
        if "int8" not in name and name != "MediaPipe":
            assert labels == vectors == 1000, name
