"""`finetune` of what writes text: load, fit, save, evaluate, export, and one text written by the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zoo
from zoo._cli import step
from zoo._cli_data import Columns, read_texts
from zoo._cli_finetune import check_folders, fit_options, learn_and_serve


def run(
    name: str,
    kind: str,
    train: Path | None,
    test: Path | None,
    columns: Columns,
    load: dict[str, Any],
    fit: dict[str, Any],
    out: Path,
    export: Path,
) -> None:
    """As for a classifier, on a table of texts and, in the label column, what is to be written; or on plain text."""
    if train is None:
        raise ValueError(f"task {kind} needs --train: a table of texts and labels, for causal_lm also plain text.")
    if kind == "seq2seq_lm" and columns.label is None:
        raise ValueError("task seq2seq_lm needs --label: the column of what is to be written, translations say.")
    check_folders(out, export)
    examples, held_out = read_texts(train, columns), read_texts(test, columns) if test else None
    with step(f"load {name}"):
        task = zoo.load(name, kind, **load)
    prompt = (held_out or examples).texts[0]
    prompt = prompt if examples.labels else " ".join(prompt.split()[:5])
    learn_and_serve(task, examples, held_out, fit_options(name, fit), out, export, [prompt])
