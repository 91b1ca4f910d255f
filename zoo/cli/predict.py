"""`predict`: an answer for each text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, tee
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from keras_transformers.data.tables import check_file, check_strings, read_rows
from zoo.cli.answers import check_out, written
from zoo.cli.app import BatchSize, MaxLength, Model, NoAnswer, TaskName, Text, TextPair, app, examples
from zoo.cli.data import Columns, requests
from zoo.cli.quiet import start_keras

Row = tuple[Any, ...]  # a text, and perhaps what goes with it


@app.command(
    epilog=examples(
        'predict runs/finetuned "Where is my parcel?" "Please cancel my order."',
        "predict runs/finetuned --file messages.csv > answers.jsonl",
        "predict runs/finetuned --file messages.csv --out answers.csv",
        "predict runs/finetuned < lines.txt",
        'predict runs/questions "Where is Ann?" "Ann is in Oslo."',
        'predict runs/endings "He opened the door" "and went in." "and ate it."',
        "predict minilm_l6_en --file pairs.csv --text a --text-pair b",
        r'predict mini_bert_en "He \[MASK] the door."',
    )
)
def predict(
    model: Model,
    texts: Annotated[list[str] | None, Argument(help="Texts; or use --file, or lines on stdin.")] = None,
    file: Annotated[
        Path | None, Option(help="CSV, TSV or JSON lines; of words also CoNLL, of questions SQuAD JSON.")
    ] = None,
    out: Annotated[
        Path | None, Option(help="Where to write answers: CSV, TSV or JSON lines by its name; printed if not given.")
    ] = None,
    text: Text = "text",
    text_pair: TextPair = None,
    task: TaskName = None,
    no_answer: NoAnswer = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
) -> None:
    """Answer texts as they are read; prints a JSON object for each."""
    columns = Columns(text, text_pair, None)
    check_out(out, file)
    rows = None if texts else stream_of(file, columns)
    start_keras()
    import zoo

    loaded = zoo.load(model, task, max_length=max_length, no_answer=no_answer)
    if rows is None or (file is None and loaded.kind.needs_pairs) or is_of_task(file, columns, loaded.kind):
        rows = rows_of(requests(texts or [], file, columns, loaded.kind))
    rows, *copies = tee(rows, 3)
    first = next(rows)
    asked = [map(itemgetter(place), copy) for place, copy in zip(range(len(first)), copies, strict=False)]
    answers = loaded.predict_stream(*asked, batch_size=batch_size, verbose=0 if out is None else "auto")
    with written(out) as write:
        for row, answer in zip(chain([first], rows), answers, strict=True):
            write({**dict(zip(("text", "text_pair"), row, strict=False)), **answer})


def stream_of(file: Path | None, columns: Columns) -> Iterator[Row] | None:
    """Rows of a table or of stdin, read as they are asked for; the first one is, to see that there is one.

    None for arguments, and for files of a task's own format, which are read whole.
    """
    if file is not None:
        check_file(file)
        rows = table_rows(file, columns)
    elif sys.stdin.isatty():
        return None
    else:
        rows = ((line.rstrip("\r\n"),) for line in sys.stdin)
    if file is not None and file.suffix != ".csv" and columns == Columns():
        return rows  # which may be of a task's own format
    first = next(rows, None)
    return None if first is None else chain([first], rows)


def is_of_task(file: Path | None, columns: Columns, kind: Any) -> bool:
    """Whether a file has the format of a task, rather than columns of texts."""
    return file is not None and kind.read is not None and file.suffix != ".csv" and columns == Columns()


def table_rows(file: Path, columns: Columns) -> Iterator[Row]:
    """The texts of a table, and their second ones; a `ValueError` names the row where one is no string."""
    names = [name for name in (columns.text, columns.text_pair) if name is not None]
    for number, row in enumerate(read_rows(file, names), 1):
        for name, value in zip(names, row, strict=True):
            check_strings(file, name, [value], first=number)
        yield tuple(row)


def rows_of(table: Any) -> Iterator[Row]:
    """The rows of a `Table` without labels."""
    return zip(*(column for column in (table.texts, table.pairs) if column is not None), strict=True)
