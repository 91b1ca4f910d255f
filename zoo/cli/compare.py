"""`compare`: the costs of attention, recurrence and convolution, theoretical and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rich import box
from rich.table import Table
from typer import Option

from zoo.cli.app import app, examples
from zoo.terminal.console import console, show

if TYPE_CHECKING:
    from keras_transformers.analysis.cost.layer_comparison import LayerComparison, Row

HEADERS = ("layer", "what", "theory", "counted", "grows with T as", "grows with d as")
NOTES = (
    "Counted for one row of T = {length} positions and width d = {width}; k = {kernel}, r = {window}. Exponents are "
    "least-squares slopes of log(counted) over T = {lengths} and d = {widths}; theory's in brackets.",
    "Multiply-adds: counted over the matrix products and convolutions in the graph that TensorFlow traces, each "
    "loop as often as it runs. Scores and mixing are attention's products of two activations, projections its "
    "products with weights.",
    "Sequential steps: products in the longest chain, in which each needs the result of the previous one. Path "
    "length: layers, or steps of a recurrent one, that a signal crosses from input 1 to output T, measured by "
    "derivatives that are not zero. Activation bytes: size of all tensors that a forward pass makes, an upper bound "
    "on what training keeps.",
    "The weights of attention do not grow with T: positions share them. A window that is a mask saves no products.",
)
CROSSINGS = "The length T beyond which attention takes more multiply-adds than a recurrent layer of its width d:"
PARTS = {"scores and mixing": "scores and mixing", "multiply-adds": "with projections"}
Lengths = Annotated[
    str, Option(help="Sequence lengths T to count at: two or more, comma-separated.", metavar="T,T,...")
]
Widths = Annotated[str, Option(help="Layer widths d to count at: two or more, comma-separated.", metavar="D,D,...")]


@app.command(epilog=examples("compare", "compare --lengths 32,64,128 --widths 64,128 --kernel 5", "compare --markdown"))
def compare(
    lengths: Lengths = "16,64,256",
    widths: Widths = "32,64,128",
    kernel: Annotated[int, Option(help="Kernel size k of the convolutions, at least 2.")] = 3,
    window: Annotated[int, Option(help="Number r of positions that restricted attention sees to each side.")] = 8,
    markdown: Annotated[bool, Option("--markdown", help="Print the tables in Markdown.")] = False,
) -> None:
    """Compare the costs of attention, recurrence and convolution, in theory and counted in TensorFlow graphs."""
    chosen_lengths, chosen_widths = _sizes("lengths", lengths), _sizes("widths", widths)  # before Keras is imported
    from keras_transformers.analysis.cost.layer_comparison import LayerComparison

    comparison = LayerComparison(chosen_lengths, chosen_widths, kernel=kernel, window=window)
    _print(HEADERS, [_cells(row) for row in comparison.rows()], markdown)
    values = {name: getattr(comparison, name) for name in ("length", "width", "kernel", "window")}
    values |= {name: ", ".join(map(str, getattr(comparison, name))) for name in ("lengths", "widths")}
    for note in NOTES:
        _say(note.format(**values), markdown)
    _say(CROSSINGS, markdown)
    _print(*crossings(comparison), markdown)


def crossings(comparison: LayerComparison) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return headers and rows: the lengths at which attention costs as much as a recurrent layer of its width."""
    from keras_transformers.analysis.cost.layer_comparison import RECURRENCES

    rows = []
    for quantity, part in PARTS.items():
        for recurrence in RECURRENCES:
            found = [comparison.crossing(quantity, recurrence, width) for width in comparison.widths]
            rows.append((part, recurrence, *("always more" if length is None else f"{length:,}" for length in found)))
    return ["attention", "against", *(f"d = {width}" for width in comparison.widths)], rows


def _sizes(name: str, value: str) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"--{name} must be comma-separated whole numbers: received {value!r}.")
    return tuple(map(int, parts))


def _cells(row: Row) -> tuple[str, ...]:
    order, *expected = row.theory or ("", None, None)
    exponents = [f"{round(exponent, 2) + 0.0:.2f}" for exponent in (row.length, row.width)]
    if row.theory:
        brackets = ["log" if exponent is None else f"{exponent:g}" for exponent in expected]
        exponents = [f"{exponent} ({bracket})" for exponent, bracket in zip(exponents, brackets, strict=True)]
    return (row.layer, row.quantity, order, f"{row.counted:,}", *exponents)


def _say(text: str, markdown: bool) -> None:
    if markdown:
        print(f"{text}\n")
    else:
        console().print(text, end="\n\n")


def _print(headers: Sequence[Any], rows: list[tuple[str, ...]], markdown: bool) -> None:
    if markdown:
        print(*(f"| {' | '.join(line)} |" for line in (headers, ["---"] * len(headers), *rows)), "", sep="\n")
        return
    table = Table(box=box.SIMPLE_HEAD)
    for index, header in enumerate(headers):
        table.add_column(header, justify="left" if index < 2 else "right", no_wrap=True)
    above = None
    for first, *others in rows:
        if above not in (None, first):
            table.add_section()
        table.add_row("" if first == above else first, *others)
        above = first
    show(table)
