"""`finetune --task causal_lm`: load, fit, evaluate, save, export, and one prompt continued by the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zoo
from keras_transformers.checkpoints.folder import check_target
from zoo._cli import step, verbosity
from zoo._cli_data import Columns, read_texts
from zoo._cli_finetune import fit_options, print_results, save_and_serve


def run(
    name: str,
    train: Path | None,
    test: Path | None,
    columns: Columns,
    load: dict[str, Any],
    fit: dict[str, Any],
    out: Path,
    export: Path,
) -> None:
    """As for a classifier, on plain text or on a table of texts and, in the label column, what follows them."""
    if train is None:
        raise ValueError("task causal_lm needs --train: a text file, a text a line, or a table of texts (and labels).")
    check_target(out)
    check_target(export, "saved_model.pb")
    examples, held_out = read_texts(train, columns), read_texts(test, columns) if test else None
    with step(f"load {name}"):
        task = zoo.load(name, "causal_lm", **load)
    fit = fit_options(name, fit)
    with step(f"fit {len(examples.texts)} texts ({', '.join(f'{key} {value}' for key, value in fit.items())})", "\n"):
        task.fit(examples.texts, examples.labels, verbose=verbosity(), **fit)
    if held_out:
        with step(f"evaluate {len(held_out.texts)} held-out texts"):
            results = task.evaluate(held_out.texts, held_out.labels)
        print_results(results)
    prompt = (held_out or examples).texts[0]
    prompt = prompt if examples.labels else " ".join(prompt.split()[:5])
    save_and_serve(task, out, export, [prompt])
