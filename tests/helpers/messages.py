"""Real text at hand everywhere: the bundled messages, as a text file."""

from __future__ import annotations

import csv
from pathlib import Path

import zoo

TABLE = Path(zoo.__file__).parent / "bundled" / "sample_messages" / "train.csv"


def messages() -> list[str]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def text_file(folder: Path, count: int = 480) -> Path:
    """A file with a message a line."""
    path = folder / "messages.txt"
    path.write_text("\n".join(messages()[:count]) + "\n", encoding="utf-8")
    return path
