"""docs/faq.md: its tables are the means of benchmarks/user_questions.jsonl."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
LOG = [json.loads(line) for line in (ROOT / "benchmarks" / "user_questions.jsonl").read_text("utf-8").splitlines()]
NUM_LABELS = {"messages": 8, "banking77": 77, "sst2": 2}
HELPS = {
    "none": "as they are",
    "balanced": "`class_weight` of 10 for the rare label",
    "threshold": "the rare label where its probability is above 1/11",
    "undersampled": "40 texts of each, the other 360 left out",
}


def found(metric: str, **settings: Any) -> float:
    """Return the mean of a metric over the runs with these settings."""
    return mean(row[metric] for row in LOG if settings.items() <= row.items())


def examples() -> list[str]:
    runs = [row for row in LOG if row["question"] == "examples" and row["model"] != "words"]
    rows = []
    for data, size in dict.fromkeys((row["data"], row["per_label"]) for row in runs):
        of = {"question": "examples", "data": data, "per_label": size}
        model, words = (found("accuracy", **of, model=model) for model in ("minilm_mini_en", "words"))
        minutes = found("minutes", **of, model="minilm_mini_en")
        name = "sample_messages" if data == "messages" else data
        rows.append(f"| `{name}` | {NUM_LABELS[data]} | {size} | {words:.2f} | {model:.2f} | {minutes:.1f} |")
    return rows


def imbalance() -> list[str]:
    scores = {kind: [found(score, weights=kind) for score in ("accuracy", "recall", "precision")] for kind in HELPS}
    return [f"| {HELPS[kind]} | {' | '.join(f'{score:.2f}' for score in scores[kind])} |" for kind in HELPS]


def costs() -> list[str]:
    rows = []
    for model, tokens in dict.fromkeys((row["model"], row["tokens"]) for row in LOG if row["question"] == "cost"):
        measured = []
        for call in ("predict", "fit"):
            of = {"question": "cost", "model": model, "tokens": tokens, "call": call}
            spent, peak = found("ms_per_text", **of), found("peak_mb", **of)
            measured += [f"{spent:.0f} ms", f"{peak / 1000:.1f} GB"]
        rows.append(f"| `{model}` | {tokens} | {' | '.join(measured)} |")
    return rows


@pytest.mark.parametrize(("rows", "number"), [(examples(), 7), (imbalance(), 4), (costs(), 8)])
def test_tables_are_those_of_the_log(rows, number):
    assert len(rows) == number and "\n".join(rows) in PAGE
