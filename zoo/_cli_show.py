"""`list` and `describe`: what the zoo knows, without Keras."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table

from zoo._entry import Entry, describe, module, names

COLUMNS = {"name": "left", "parameters": "right", "layers x width": "right", "task": "left", "licence": "left"}


def console() -> Console:
    """As wide as the terminal; wide enough for a table where there is none."""
    return Console(width=None if sys.stdout.isatty() else 100, highlight=False, markup=False)


def show_list(pattern: str, bundled: bool) -> None:
    """Print a table, a model a line."""
    found = names(pattern, True if bundled else None)
    if not found:
        raise ValueError(f"no {'bundled ' if bundled else ''}model is named like {pattern!r}; the zoo has {names()}.")
    table = Table(box=box.SIMPLE_HEAD)
    for header, justify in COLUMNS.items():
        table.add_column(header, justify=justify, no_wrap=True)
    table.add_column("bundled")
    for entry in map(describe, found):
        layers = entry.config.num_layers + (entry.config.num_decoder_layers or 0)
        size = f"{layers} x {entry.config.hidden_dim}"
        bundled_mark = "yes" if entry.bundled else ""
        table.add_row(entry.name, f"{entry.parameters:,}", size, entry.task, entry.licence, bundled_mark)
    console().print(table)


def show(name: str) -> None:
    """Print all facts of a model."""
    grid = Table.grid(padding=(0, 2))
    for key, value in facts(describe(name)).items():
        grid.add_row(key, value)
    console().print(grid)


def facts(entry: Entry) -> dict[str, str]:
    """What `describe` prints, by what it is."""
    weights = f"{entry.source}, downloaded when first loaded" if entry.source else "none: sizes to train"
    rows = {
        "name": entry.name,
        "summary": entry.summary,
        **(_sizes(entry) if entry.config else {}),
        "made for": entry.task,
        "licence": entry.licence,
        "weights": "in the package" if entry.bundled else weights,
        "paper": entry.paper,
    }
    if hasattr(module(entry.name), "train"):
        rows["made by"] = f"python -m zoo train {entry.name} --data DIR --out FOLDER"
    if entry.fit:
        rows["fine-tuning"] = ", ".join(f"{key} {value}" for key, value in entry.fit.items())
    return rows | {key.replace("_", " "): str(value) for key, value in entry.results.items()}


def _sizes(entry: Entry) -> dict[str, str]:
    config, more = entry.config, ""
    counted = {"encoder": "encoder with pooler", "decoder": "decoder with output layer"}
    counted["encoder_decoder"] = "encoder, and decoder with output layer"
    if config.num_decoder_layers:
        more = f" + {config.num_decoder_layers}"
    return {
        "family": config.family,
        "parameters": f"{entry.parameters:,} ({counted[config.kind]})",
        "layers": f"{config.num_layers}{more} of {config.hidden_dim}, {config.num_heads} heads, "
        f"feed-forward {config.intermediate_dim}",
        "vocabulary": f"{config.vocabulary_size:,} tokens",
        "longest text": f"{config.max_length} tokens",
    }
