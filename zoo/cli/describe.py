"""`describe`: all that the zoo knows of a model, without Keras."""

from __future__ import annotations

from typing import Annotated

from rich.table import Table
from typer import Argument

from zoo import _entry
from zoo.cli.app import app, console, examples


@app.command(epilog=examples("describe mini_bert_en"))
def describe(name: Annotated[str, Argument(help="A name of `list`.")]) -> None:
    """All that the zoo knows of a model."""
    grid = Table.grid(padding=(0, 2))
    for key, value in facts(_entry.describe(name)).items():
        grid.add_row(key, value)
    console().print(grid)


def facts(entry: _entry.Entry) -> dict[str, str]:
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
    if hasattr(_entry.module(entry.name), "train"):
        rows["made by"] = f"python -m zoo train {entry.name} --data DIR --out FOLDER"
    if entry.fit:
        rows["fine-tuning"] = ", ".join(f"{key} {value}" for key, value in entry.fit.items())
    for result in entry.results:
        rows[result.data] = ", ".join(filter(None, (rows.get(result.data), result.shown)))
    return rows


def _sizes(entry: _entry.Entry) -> dict[str, str]:
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
