"""`list`: the models of the zoo, without Keras."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from rich import box
from rich.table import Table
from typer import Argument, Option

from zoo._entry import Entry, describe, is_known, names, no_such_model
from zoo.cli.app import app, examples, show

Side = Literal["left", "right"]
COLUMNS: dict[str, Side] = {
    "name": "left",
    "params": "right",
    "layers": "right",
    "task": "left",
    "licence": "left",
    "weights": "left",
}


@app.command("list", epilog=examples("list", 'list "bert_base*"', "list --bundled"))
def list_models(
    pattern: Annotated[str, Argument(help="Names, with the wildcards of the shell.")] = "*",
    bundled: Annotated[bool, Option("--bundled", help="Only models whose weights are in the package.")] = False,
    markdown: Annotated[bool, Option("--markdown", help="Print Markdown, as docs/models.md has it.")] = False,
) -> None:
    """List the models of the zoo: sizes, tasks, licences, and whether their weights are bundled."""
    found = names(pattern, True if bundled else None)
    if not found and not is_known(pattern) and not set(pattern) & set("*?["):
        raise no_such_model(pattern)
    if not found:
        raise ValueError(f"no {'bundled ' if bundled else ''}model is named like {pattern!r}; the zoo has {names()}.")
    if markdown:
        print(markdown_table(map(describe, found)))
        return
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for header, justify in COLUMNS.items():
        table.add_column(header, justify=justify, no_wrap=True)
    for entry in map(describe, found):
        table.add_row(*cells(entry))
    show(table)


def markdown_table(entries: Iterable[Entry]) -> str:
    """Return the table of docs/models.md, in Markdown: models with bundled weights first.

    Example:

    >>> markdown_table([describe("gpt2")]).splitlines()[-1]
    '| `gpt2` | 124 M | 12 x 768 | causal_lm | MIT | hub |'
    """
    rows = [tuple(COLUMNS), tuple("---" for _ in COLUMNS)]
    for entry in sorted(entries, key=lambda entry: (not entry.bundled, entry.source is None, entry.name)):
        name, *facts, weights = cells(entry)
        card = f"[bundled](../zoo/bundled/{name}/README.md)" if entry.bundled else weights
        rows.append((f"`{name}`", *facts, card))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cells(entry: Entry) -> tuple[str, ...]:
    """Return the cells of a model's row; layers are shown as their number times their width."""
    config, parameters = entry.sizes
    layers = config.num_layers + (config.num_decoder_layers or 0)
    size = f"{layers} x {config.hidden_dim}"
    weights = "bundled" if entry.bundled else "hub" if entry.source else "none"
    return entry.name, millions(parameters), size, entry.task, entry.licence, weights


def millions(number: int) -> str:
    """Return a number of parameters in millions, with a decimal where there are few.

    Example:

    >>> millions(139_417_344), millions(4_385_920)
    ('139 M', '4.4 M')
    """
    return f"{number / 1e6:,.{0 if number >= 99.95e6 else 1}f} M"
