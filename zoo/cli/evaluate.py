"""`evaluate`: the metrics of a model over a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Option

from zoo.cli.app import BatchSize, Label, MaxLength, Model, Text, TextPair, app, examples
from zoo.cli.data import Columns, examples_of
from zoo.cli.quiet import start_keras


@app.command(
    epilog=examples(
        "evaluate runs/mine --data test.csv",
        "evaluate runs/sst2 --data sst2/test.tsv --text 0 --label 1",
        "evaluate mini_bert_en --data gutenberg_novels/valid.txt",
    )
)
def evaluate(
    model: Model,
    data: Annotated[Path, Option(help="CSV, TSV or JSON lines; for a pre-training model text, a paragraph a line.")],
    text: Text = "text",
    text_pair: TextPair = None,
    label: Label = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
) -> None:
    """Measure a model on a file; prints one JSON object."""
    start_keras()
    import zoo

    task = zoo.load(model, max_length=max_length)
    rows = examples_of(task.kind, data, Columns(text, text_pair, label), task.parts.attributes.get("problem"))
    print(json.dumps(task.evaluate(**rows, batch_size=batch_size)))
