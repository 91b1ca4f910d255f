"""`list`: print the models of the zoo; Keras is not imported."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Literal

from rich import box
from rich.table import Table
from typer import Argument, Option

from zoo.cli.app import app, examples
from zoo.registry.entry import Entry, describe, is_known, names, no_such_model
from zoo.terminal.console import show

Side = Literal["left", "right"]
COLUMNS: dict[str, Side] = {
    "name": "left",
    "family": "left",
    "params": "right",
    "layers": "right",
    "licence": "left",
    "weights": "left",
}
KINDS = ("encoder", "decoder", "encoder_decoder")


@app.command(
    "list",
    epilog=examples(
        "list",
        'list "bert_base*"',
        "list --bundled",
        "list --task sentence_embedding --license mit --max-parameters 200M",
        "list --family gpt2",
    ),
)
def list_models(
    pattern: Annotated[str, Argument(help="Name or shell-style pattern of the models to list.")] = "*",
    bundled: Annotated[bool, Option("--bundled", help="List only models whose weights are in the package.")] = False,
    family: Annotated[str | None, Option(help="List only models of this architecture, such as bert.")] = None,
    task: Annotated[str | None, Option(help="List only models made for this task, such as masked_lm.")] = None,
    licence: Annotated[
        str | None, Option("--license", "--licence", help="List only models with this licence, such as MIT.")
    ] = None,
    max_parameters: Annotated[
        str | None, Option(help="List only models with at most this many parameters, such as 200M.", metavar="NUMBER")
    ] = None,
    markdown: Annotated[bool, Option("--markdown", help="Print the table in Markdown, as in docs/models.md.")] = False,
) -> None:
    """List the models of the zoo, grouped by architecture and task, with their sizes, licences and weights."""
    if pattern not in names() and not set(pattern) & set("*?[") and not is_known(pattern):
        raise no_such_model(pattern)
    facts = {"family": family, "task": task, "licence": licence, "max_parameters": max_parameters}
    found = names(pattern, True if bundled else None, **facts)
    if not found:
        asked = [f"{name} {value}" for name, value in facts.items() if value is not None]
        of = ", ".join([*(["bundled"] if bundled else []), f"named like {pattern!r}", *asked])
        remedy = "leave one of these out; " if "," in of else ""
        raise ValueError(f"no model is {of}: {remedy}zoo.names() has all models.")
    if markdown:
        print(markdown_table(map(describe, found)))
    else:
        show(grouped_table(map(describe, found)))


def grouped_table(entries: Iterable[Entry]) -> Table:
    """Return a table with a group for each kind of model and task, by family and size within it."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for header, side in COLUMNS.items():
        table.add_column(header, justify=side, no_wrap=True)
    for group, members in groupby(sorted(entries, key=_place), _group):
        if table.row_count:
            table.add_row()
        table.add_row(", ".join(group), style="bold")
        for entry in members:
            table.add_row(entry.name, entry.family, *cells(entry))
    return table


def _group(entry: Entry) -> tuple[str, str]:
    return entry.sizes[0].kind, entry.task


def _place(entry: Entry) -> tuple:
    kind, task = _group(entry)
    return KINDS.index(kind), task, entry.family, entry.sizes[1], entry.name


def markdown_table(entries: Iterable[Entry]) -> str:
    """Return the table of docs/models.md, in Markdown: models with bundled weights first.

    Example:

    >>> markdown_table([describe("gpt2")]).splitlines()[-1]
    '| `gpt2` | 124 M | 12x768 | causal_lm | MIT | hub |'
    """
    header = ("name", "params", "layers", "task", "licence", "weights")
    rows = [header, tuple("---" for _ in header)]
    for entry in sorted(entries, key=lambda entry: (not entry.bundled, entry.source is None, entry.name)):
        parameters, layers, licence, weights = cells(entry)
        card = f"[bundled](../zoo/bundled/{entry.name}/README.md)" if entry.bundled else weights
        rows.append((f"`{entry.name}`", parameters, layers, entry.task, licence, card))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cells(entry: Entry) -> tuple[str, str, str, str]:
    """Return the sizes of a model, its licence, and where its weights are; layers as their number times their width."""
    config, parameters = entry.sizes
    layers = config.num_layers + (config.num_decoder_layers or 0)
    weights = "bundled" if entry.bundled else "hub" if entry.source else "none"
    return millions(parameters), f"{layers}x{config.hidden_dim}", entry.licence, weights


def millions(number: int) -> str:
    """Return a number of parameters in millions, with a decimal where there are few.

    Example:

    >>> millions(139_417_344), millions(4_385_920)
    ('139 M', '4.4 M')
    """
    return f"{number / 1e6:,.{0 if number >= 99.95e6 else 1}f} M"
