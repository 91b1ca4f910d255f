"""`evaluate`: the metrics of a model over a file, scores by label, and the worst answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from zoo.cli.app import (
    BatchSize,
    Label,
    Loss,
    MaxLength,
    Model,
    NoAnswer,
    TaskName,
    Text,
    TextPair,
    app,
    console,
    examples,
)  # fmt: skip
from zoo.cli.data import Columns, examples_of
from zoo.cli.quiet import start_keras
from zoo.cli.report import show


@app.command(
    epilog=examples(
        "evaluate runs/mine --data test.csv",
        "evaluate runs/mine --data test.csv --json > report.json",
        "evaluate runs/sst2 --data sst2/test.tsv --text 0 --label 1",
        "evaluate mini_bert_en --data gutenberg_novels/valid.txt",
        "evaluate minilm_l6_en --data pairs.csv --text a --text-pair b --label score --loss cosine",
    )
)
def evaluate(
    model: Model,
    data: Annotated[
        Path,
        Option(
            help="CSV, TSV or JSON lines; of words CoNLL, of questions SQuAD JSON; for a pre-training model text, a "
            "paragraph a line.",
            rich_help_panel="Data",
        ),
    ],
    text: Text = "text",
    text_pair: TextPair = None,
    label: Label = None,
    task: TaskName = None,
    loss: Loss = None,
    no_answer: NoAnswer = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object on a terminal too.", rich_help_panel="Output")
    ] = False,
) -> None:
    """Measure a model on a file: tables on a terminal; in a pipe, a file or with --json one JSON object."""
    start_keras()
    import zoo
    from keras_transformers.tasks.reports import measure

    loaded = zoo.load(model, task, max_length=max_length, loss=loss, no_answer=no_answer)
    rows = examples_of(loaded.kind, data, Columns(text, text_pair, label), loaded.parts.attributes.get("problem"))
    report = measure(loaded, **rows, batch_size=batch_size)
    if as_json or not sys.stdout.isatty():
        print(json.dumps(report, ensure_ascii=False))
    else:
        show(report, console())
