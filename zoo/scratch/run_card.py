"""The card of a trained model: what it was made from, how, what it reached and what to do with it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from keras_transformers.checkpoints.files.card import MOST_BYTES, sealed
from keras_transformers.data.corpus.survey import sha256_of

MOST_FILES = 100  # that are named: `is_unedited` reads cards of up to a megabyte
ESCAPES = str.maketrans({letter: f"\\{letter}" for letter in "\\|`<"})


def card(
    title: str,
    facts: Mapping[str, str],
    results: Mapping[str, float],
    files: Sequence[tuple[str, int, str]],
    command: str,
    next_commands: Sequence[str],
    has_curve: bool = True,
) -> str:
    """Return the README.md of a model's folder.

    Args:
        title: Name of the model.
        facts: Facts of the model and its training, by name.
        results: Results on held-out text, by name.
        files: Files of the corpus: name, bytes and sha256.
        command: Command line after `python -m zoo`.
        next_commands: Commands to run next.
        has_curve: Whether the folder has the losses of the run and their curve.

    Example:

    >>> print(card("mine", {"layers": "2"}, {"perplexity": 12.0}, [], "train ...", []).splitlines()[0])
    # mine
    """
    parts = [f"# {_cell(title)}", _table(("", ""), (map(_cell, fact) for fact in facts.items()))]
    if results:
        rows = ((name, f"{value:.5g}") for name, value in results.items())
        parts += ["## Measured on held-out text", _table(("metric", "value"), rows)]
    if has_curve:
        parts += ["The losses of every round are in [training/metrics.jsonl](training/metrics.jsonl), their curve in "
                  "[training/curve.html](training/curve.html)."]  # fmt: skip
    if files:
        named = ((_cell(Path(name).name), f"{size:,}", f"`{checksum}`") for name, size, checksum in files)
        parts += ["## Trained on", _table(("file", "bytes", "sha256"), islice(named, MOST_FILES))]
        if more := files[MOST_FILES:]:
            parts += [f"And {len(more):,} more files of {sum(size for _, size, _ in more):,} bytes."]
    parts += ["## Made by", _code(command)]
    parts += ["## Use it", *map(_code, next_commands)]
    # The bytes of a file name that are no UTF-8 cannot be written in it.
    return sealed("\n\n".join(parts).encode(errors="replace").decode())


def is_trained_on(folder: Path, file: Path) -> bool:
    """Return whether the card of a model's folder names a file, by its checksum, among those it was trained on."""
    path = folder / "README.md"
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return False
    return f"`{sha256_of(file)}`" in path.read_text(encoding="utf-8", errors="replace")


def _code(command: str) -> str:
    """Return a command as a block with all lines indented: a name with a line end in it does not end the block."""
    return textwrap.indent(f"python -m zoo {command}", "    ", lambda line: True)


def _table(header: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """Return a text for a table cell, in one line, with the Markdown and HTML in it escaped."""
    return " ".join(text.split()).translate(ESCAPES)
