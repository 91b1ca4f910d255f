"""`predict`: an answer for each text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, tee
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from zoo.cli.app import (
    BatchSize,
    MaxLength,
    Model,
    NoAnswer,
    TaskName,
    Text,
    TextPair,
    app,
    examples,
    of_data,
    of_output,
    readable,
)
from zoo.cli.data import Columns, Row, checked_texts, rows_of
from zoo.cli.printed_answers import check_out, written


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
        Path | None,
        of_data(callback=readable, help="CSV, TSV or JSON lines; of words also CoNLL, of questions SQuAD JSON."),
    ] = None,
    out: Annotated[
        Path | None,
        of_output(help="Where to write answers: CSV, TSV or JSON lines by its name; printed if not given."),
    ] = None,
    text: Text = "text",
    text_pair: TextPair = None,
    task: TaskName = None,
    no_answer: NoAnswer = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
) -> None:
    """Answer texts as they are read; print a JSON object for each."""
    columns = Columns(text, text_pair, None)
    check_out(out, file)
    lines = checked_texts(texts or [], file, columns)
    import zoo

    loaded = zoo.load(model, task, max_length=max_length, no_answer=no_answer)
    rows, *asked = columns_of(rows_of(lines, file, columns, loaded.kind))
    answers = loaded.predict_stream(*asked, batch_size=batch_size, verbose=0 if out is None else "auto")
    with written(out) as write:
        for row, answer in zip(rows, answers, strict=True):
            write({**dict(zip(("text", "text_pair"), row, strict=False)), **answer})


def columns_of(rows: Iterator[Row]) -> Iterator[Iterator[Any]]:
    """Yield an iterator of the rows, then one of each column; a row is freed once all iterators have passed it."""
    first = next(rows)
    rows, *copies = tee(chain([first], rows), 1 + len(first))
    yield rows
    for place, copy in enumerate(copies):
        yield map(itemgetter(place), copy)
