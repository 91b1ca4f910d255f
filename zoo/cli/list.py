"""`list`: the models of the zoo, without Keras."""

from __future__ import annotations

from typing import Annotated

from rich import box
from rich.table import Table
from typer import Argument, Option

from zoo._entry import describe, names
from zoo.cli.app import app, console, examples

COLUMNS = {"name": "left", "parameters": "right", "layers x width": "right", "task": "left", "licence": "left"}


@app.command("list", epilog=examples("list", 'list "bert_base*"', "list --bundled"))
def list_models(
    pattern: Annotated[str, Argument(help="Names, with the wildcards of the shell.")] = "*",
    bundled: Annotated[bool, Option("--bundled", help="Only models whose weights are in the package.")] = False,
) -> None:
    """The models of the zoo: sizes, tasks and licences."""
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
