"""`results`: print the measured results of the models; Keras is not imported."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

from typer import Argument, Option

from zoo.cli.app import app, examples
from zoo.registry.entry import Result, describe, names
from zoo.terminal.console import hanging

COLUMNS = ("model", "data", "measured", "runs", "minutes", "by python ...")


@app.command(epilog=examples("results", 'results "minilm*"', "results --markdown"))
def results(
    pattern: Annotated[str, Argument(help="Name or shell-style pattern of the models.")] = "*",
    markdown: Annotated[bool, Option("--markdown", help="Print the table in Markdown, as in docs/results.md.")] = False,
) -> None:
    """Show the measured results of the models, with the commands that reproduce them."""
    rows = [row for name in names(pattern) for row in rows_of(name, describe(name).results)]
    if not rows:
        known = [name for name in names() if describe(name).results]
        raise ValueError(f"nothing was measured with a model named like {pattern!r}; there are results of {known}.")
    if markdown:
        print(*markdown_lines(rows), sep="\n")
        return
    for name, of_model in groupby(rows, lambda row: row[0]):
        print(name, *map(paragraph, of_model), sep="\n")


def paragraph(row: tuple[str, ...]) -> str:
    """Return a measurement, wrapped, and its command on one line below, however long, to be copied."""
    _, data, measured, runs, minutes, command = row
    times = "1 run" if runs == "1" else f"{runs} runs"
    times += f" of {minutes} minutes" if minutes else ""
    return "\n".join((hanging("  ", f"{data}: {measured} ({times})"), hanging("    ", f"python {command}")))


def rows_of(name: str, results: tuple[Result, ...]) -> list[tuple[str, ...]]:
    """Return the rows of a model's results; metrics of one run share a row."""
    rows: list[tuple[str, ...]] = []
    for (data, seeds, minutes, command), group in groupby(
        results, lambda result: (result.data, result.seeds, result.minutes, result.command)
    ):
        measured = ", ".join(result.shown for result in group)
        rows.append((name, data, measured, str(seeds), "" if minutes is None else f"{minutes:.0f}", command))
    return rows


def markdown_lines(rows: list[tuple[str, ...]]) -> list[str]:
    """Return the table in Markdown, with names and commands as code."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    lines += [(f"`{name}`", *cells, f"`{command}`") for name, *cells, command in rows]
    return [f"| {' | '.join(line)} |" for line in lines]
