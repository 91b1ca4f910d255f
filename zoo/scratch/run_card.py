"""The card of a trained model: what it was made from, how, what it reached and what to do with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.files.card import sealed


def card(
    title: str,
    facts: Mapping[str, str],
    results: Mapping[str, float],
    files: Sequence[tuple[str, int, str]],
    command: str,
    next_commands: Sequence[str],
) -> str:
    """Return the README.md of a model's folder.

    Args:
        title: Name of the model.
        facts: Of the model and its training, by name.
        results: Measured on held-out text, by name.
        files: Of the corpus: name, bytes and sha256.
        command: What was run, after `python -m zoo`.
        next_commands: What to run next.

    Example:

    >>> print(card("mine", {"layers": "2"}, {"perplexity": 12.0}, [], "train ...", []).splitlines()[0])
    # mine
    """
    parts = [f"# {title}", _table(("", ""), facts.items())]
    parts += [
        "## Measured on held-out text",
        _table(("metric", "value"), ((k, f"{v:.5g}") for k, v in results.items())),
    ]
    parts += ["The losses of every round are in [training/metrics.jsonl](training/metrics.jsonl), their curve in "
              "[training/curve.html](training/curve.html)."]  # fmt: skip
    if files:
        rows = ((Path(name).name, f"{size:,}", f"`{checksum}`") for name, size, checksum in files)
        parts += ["## Trained on", _table(("file", "bytes", "sha256"), rows)]
    parts += ["## Made by", f"    python -m zoo {command}"]
    parts += ["## Use it", *(f"    python -m zoo {line}" for line in next_commands)]
    return sealed("\n\n".join(parts))


def _table(header: tuple[str, ...], rows: Any) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
