"""Output of commands and runs: facts beside their names, tables, steps with their time."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

STARTED = time.monotonic()  # about when the command did: before Keras is imported


@contextmanager
def step(title: str, end: str = " ... ") -> Iterator[None]:
    """Print the title of a step before it runs, and its time after it."""
    print(title, end=end, flush=True)
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:.1f} s", flush=True)


def console() -> Console:
    """Return a console as wide as the terminal, or 100 columns wide where there is none."""
    return Console(width=None if sys.stdout.isatty() else 100, highlight=False, markup=False)


def counted(number: int, noun: str) -> str:
    """Return a number and its noun.

    Example:

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def hanging(begin: str, text: str) -> str:
    """Wrap a text to the terminal's width with a hanging indent; a command stays one line, to copy."""
    if text.startswith("python "):
        return f"{begin}{text}"
    return textwrap.fill(
        text,
        console().width,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_facts(facts: Mapping[str, str], width: int = 0) -> None:
    """Print facts, each beside its name.

    Args:
        facts: The facts by name.
        width: Minimum width of the names.
    """
    width = max(width, *map(len, facts))
    for name, fact in facts.items():
        print(hanging(f"{name:<{width}}  ", fact))


def show(table: Table) -> None:
    """Print a table with uncut cells, even where the terminal is too narrow for it."""
    printer = console()
    needed = Measurement.get(printer, printer.options.update(max_width=1_000), table).maximum
    printer.width = max(printer.width, needed)
    printer.print(table)


def verbosity() -> int:
    """Return the `verbose` of `fit`: a progress bar on a terminal, a line per epoch elsewhere."""
    return 1 if sys.stdout.isatty() else 2
