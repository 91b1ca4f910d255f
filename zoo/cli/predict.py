"""`predict`: an answer for each text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

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
    readable,
)
from zoo.cli.data import Columns, checked_texts, requests


@app.command(
    epilog=examples(
        'predict runs/finetuned "Where is my parcel?" "Please cancel my order."',
        "predict runs/finetuned --file messages.csv > answers.jsonl",
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
    text: Text = "text",
    text_pair: TextPair = None,
    task: TaskName = None,
    no_answer: NoAnswer = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
) -> None:
    """Answer texts; prints a JSON object for each."""
    columns = Columns(text, text_pair, None)
    texts = checked_texts(texts or [], file, columns)
    import zoo

    loaded = zoo.load(model, task, max_length=max_length, no_answer=no_answer)
    table = requests(texts, file, columns, loaded.kind)
    for start in range(0, len(table.texts), batch_size):
        batch = slice(start, start + batch_size)
        asked = {"text": table.texts[batch]} | ({"text_pair": table.pairs[batch]} if table.pairs else {})
        for *request, answer in zip(*asked.values(), loaded.predict(*asked.values()), strict=True):
            line = {**dict(zip(asked, request, strict=True)), **answer}
            print(json.dumps(line, ensure_ascii=False, default=lambda array: array.tolist()), flush=True)
