"""`evaluate`: the metrics of a model over a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

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
    examples,
    of_data,
    readable,
)
from zoo.cli.data import Columns, check_header, examples_of


@app.command(
    epilog=examples(
        "evaluate runs/mine --data test.csv",
        "evaluate runs/sst2 --data sst2/test.tsv --text 0 --label 1",
        "evaluate mini_bert_en --data gutenberg_novels/valid.txt",
        "evaluate minilm_l6_en --data pairs.csv --text a --text-pair b --label score --loss cosine",
    )
)
def evaluate(
    model: Model,
    data: Annotated[
        Path,
        of_data(
            callback=readable,
            help="CSV, TSV or JSON lines; of words CoNLL, of questions SQuAD JSON; for a pre-training model text, a "
            "paragraph a line.",
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
) -> None:
    """Measure a model on a file; prints one JSON object."""
    columns = Columns(text, text_pair, label)
    check_header(data, columns)
    import zoo

    loaded = zoo.load(model, task, max_length=max_length, loss=loss, no_answer=no_answer)
    rows = examples_of(loaded.kind, data, columns, loaded.parts.attributes.get("problem"))
    print(json.dumps(loaded.evaluate(**rows, batch_size=batch_size)))
