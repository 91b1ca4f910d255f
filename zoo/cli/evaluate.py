"""`evaluate`: the metrics of a model on a file, scores by label, and the worst answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from zoo.cli.app import app, examples
from zoo.cli.data import Columns, as_known, check_header, examples_of
from zoo.cli.printed_answers import print_json
from zoo.cli.report import show
from zoo.terminal.console import console
from zoo.terminal.options import (
    BatchSize,
    Encoding,
    Errors,
    Label,
    Loss,
    MaxLength,
    Model,
    NoAnswer,
    TaskName,
    Text,
    TextPair,
    of_data,
    of_output,
    readable,
)

SEEN = (
    "note: {model}/README.md names {data} as training data, so these figures do not show how the model performs on "
    "new texts. Give --data a file of other rows; the card has the figures of the rows that were held out."
)


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
        of_data(
            callback=readable,
            help="Evaluation file: CSV, TSV or JSON lines; CoNLL for token_classification; SQuAD JSON for "
            "question_answering; plain text with one paragraph per line for pre-training tasks.",
        ),
    ],
    text: Text = "text",
    text_pair: TextPair = None,
    label: Label = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    task: TaskName = None,
    loss: Loss = None,
    no_answer: NoAnswer = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
    as_json: Annotated[bool, of_output("--json", help="Print one JSON object, even on a terminal.")] = False,
) -> None:
    """Evaluate a model on a file; print tables on a terminal, and one JSON object to pipes and files or with --json."""
    columns = Columns(text, text_pair, label, encoding, errors)
    check_header(data, columns)
    from keras_transformers.tasks.reports import measure
    from zoo.loading.load import load
    from zoo.scratch.run_card import is_trained_on

    loaded = load(model, task, max_length=max_length, loss=loss, no_answer=no_answer)
    problem = loaded.parts.attributes.get("problem")
    rows = examples_of(loaded.kind, data, columns, problem)
    if problem in ("single_label", "multi_label"):
        rows["labels"] = as_known(data, columns, rows, loaded.labels, "the model")
    report = measure(loaded, **rows, batch_size=batch_size)
    if is_trained_on(Path(model), data):
        print(SEEN.format(data=data, model=model), file=sys.stderr)
    if as_json or not sys.stdout.isatty():
        print_json(report, digits=None)
    else:
        show(report, console())
