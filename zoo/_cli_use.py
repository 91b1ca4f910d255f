"""`evaluate`, `predict` and `export`: what is done with a model as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import zoo
from keras_transformers.checkpoints.folder import check_target
from keras_transformers.data.tables import read_table
from zoo._cli import step
from zoo._cli_data import Columns, read_labelled, read_texts, requests


def evaluate(model: str, data: Path, columns: Columns, batch_size: int, max_length: int | None) -> None:
    """Print the metrics of a task over a file."""
    task = zoo.load(model, max_length=max_length)
    print(json.dumps(task.evaluate(**arguments(task, data, columns), batch_size=batch_size)))


def arguments(task: Any, data: Path, columns: Columns) -> dict[str, Any]:
    """What a file gives to `evaluate` of a task."""
    if task.name == "pretraining":
        return {"texts": data}
    if task.name in ("causal_lm", "seq2seq_lm"):
        return read_texts(data, columns)._asdict()
    if task.name == "classification":
        return read_labelled(data, columns, task.problem)._asdict()
    return read_table(data, columns.text, columns.text_pair)._asdict()


def predict(
    model: str, texts: list[str], file: Path | None, columns: Columns, batch_size: int, max_length: int | None
) -> None:
    """Print a line of JSON for each text, batch by batch."""
    table = requests(texts, file, columns)
    task = zoo.load(model, max_length=max_length)
    for start in range(0, len(table.texts), batch_size):
        chunk = slice(start, start + batch_size)
        asked = {"text": table.texts[chunk]} | ({"text_pair": table.pairs[chunk]} if table.pairs else {})
        for *request, answer in zip(*asked.values(), task.predict(*asked.values()), strict=True):
            line = {**dict(zip(asked, request, strict=True)), **answer}
            print(json.dumps(line, ensure_ascii=False), flush=True)


def export(model: str, folder: Path, max_length: int | None) -> None:
    """Write the SavedModel."""
    check_target(folder, "saved_model.pb")
    with step(f"load {model}"):
        task = zoo.load(model, max_length=max_length)
    with step(f"export {folder}"):
        task.export(folder)
