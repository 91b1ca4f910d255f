"""`predict`: an answer for each text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, tee
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from keras_transformers.utils.json_file import read_json
from zoo.cli.app import app, examples
from zoo.cli.data import Columns, Row, checked_texts, rows_of
from zoo.cli.printed_answers import DIGITS, check_out, json_line, written
from zoo.terminal.options import (
    BatchSize,
    Encoding,
    Errors,
    MaxLength,
    Model,
    NoAnswer,
    Prompt,
    TaskName,
    Text,
    TextPair,
    TruncateDim,
    of_data,
    of_model,
    of_output,
    readable,
)

CHUNK = 256  # texts that are asked for labels at a time
File = Annotated[
    Path | None,
    of_data(
        callback=readable,
        help="Input file: CSV, TSV or JSON lines; also CoNLL for token_classification, SQuAD JSON for "
        "question_answering.",
    ),
]
Out = Annotated[
    Path | None, of_output(help="Output file: .csv, .tsv or .jsonl. If omitted, answers are printed as JSON lines.")
]
Labels = Annotated[str | None, of_model(help="Comma-separated candidate labels for zero-shot classification.")]
Top = Annotated[
    int | None,
    of_output(min=1, help="Number of most probable labels to print. If omitted, all labels of up to 1,000."),
]
Template = Annotated[str | None, of_model(help="Sentence with {} in place of the label, for --labels.")]
Precision = Annotated[
    str,
    of_output(
        help="Precision of vectors: float32, int8 or uint8 (with --ranges), binary or ubinary (1 bit per number)."
    ),
]
Ranges = Annotated[
    Path | None,
    of_data(
        callback=readable,
        help="JSON file with the ranges for int8 and uint8, from `vector_ranges`: two lists, of the minima and maxima.",
    ),
]
MultiLabel = Annotated[bool, of_model("--multi-label", help="Allow several --labels for a text, or none.")]


@app.command(
    epilog=examples(
        'predict runs/finetuned "Where is my parcel?" "Please cancel my order."',
        "predict runs/finetuned --file messages.csv > answers.jsonl",
        "predict runs/finetuned --file messages.csv --out answers.csv",
        "predict runs/finetuned < lines.txt",
        'predict runs/questions "Where is Ann?" "Ann is in Oslo."',
        'predict runs/endings "He opened the door" "and went in." "and ate it."',
        'predict runs/nli "The match was a draw." --labels "sports, politics" --template "This is about {}."',
        "predict minilm_l6_en --file pairs.csv --text a --text-pair b",
        "predict multilingual_e5_small --file texts.csv --out vectors.jsonl --prompt passage --precision ubinary",
        r'predict mini_bert_en "He \[MASK] the door."',
    )
)
def predict(
    model: Model,
    texts: Annotated[
        list[str] | None, Argument(help="Texts to answer. If omitted, --file or the lines of stdin.")
    ] = None,
    file: File = None,
    out: Out = None,
    text: Text = "text",
    text_pair: TextPair = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    task: TaskName = None,
    no_answer: NoAnswer = None,
    labels: Labels = None,
    template: Template = None,
    multi_label: MultiLabel = False,
    top: Top = None,
    prompt: Prompt = None,
    truncate_dim: TruncateDim = None,
    precision: Precision = "float32",
    ranges: Ranges = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
) -> None:
    """Predict an answer for each text, such as a label or a vector, and print it as a JSON object."""
    columns = Columns(text, text_pair, None, encoding, errors)
    check_out(out, file)
    ask = asked_labels(labels, template, multi_label, text_pair)
    lines = checked_texts(texts or [], file, columns)
    from zoo.loading.load import load

    limits = asked_ranges(precision, ranges, text_pair)
    of_vectors: dict[str, Any] = {"default_prompt": prompt, "truncate_dim": truncate_dim}
    loaded = load(model, task, max_length=max_length, no_answer=no_answer, **of_vectors)
    likeliest = asked_top(loaded, top, ask)
    rows, *asked = columns_of(rows_of(lines, file, columns, loaded.kind))
    answers = in_precision(loaded, answers_of(loaded, asked, ask, batch_size, likeliest, out), precision, limits)
    with written(out) as write:
        for row, answer in zip(rows, answers, strict=True):
            write({**dict(zip(("text", "text_pair"), row, strict=False)), **answer})


def asked_labels(labels: str | None, template: str | None, multi_label: bool, text_pair: Any) -> dict[str, Any] | None:
    """Return the options of `task.zero_shot`; None without labels.

    Raises:
        ValueError: There are no labels in `--labels`, or what belongs to them is given without them, or with pairs.
    """
    if labels is None:
        if template is not None or multi_label:
            raise ValueError("--template and --multi-label are for --labels: give --labels too, or leave them out.")
        return None
    names = [name.strip() for name in labels.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"--labels must be different names, separated by commas: received {labels!r}.")
    if text_pair is not None:
        raise ValueError("--labels are for texts, not for pairs: leave --text-pair out.")
    return {"labels": names, "template": template, "multi_label": multi_label}


def asked_top(task: Any, top: int | None, ask: Any) -> dict[str, int]:
    """Return the option `top` of `predict_stream`, if it is given.

    Raises:
        ValueError: The task has no probabilities of labels, or `--labels` asks for other ones, or needs a classifier.
    """
    if ask is not None and not hasattr(task, "zero_shot"):
        raise ValueError(f"--labels need a classifier: received a model for {task.name}. Leave them out.")
    if top is None:
        return {}
    if not takes_top(task) or ask is not None:
        asked = "labels that are given" if ask is not None else task.name
        raise ValueError(f"--top is for the labels of a classifier: received it for {asked}. Leave it out.")
    return {"top": top}


def takes_top(task: Any) -> bool:
    """Return whether a task predicts probabilities of labels, of which it can give the likeliest."""
    from keras_transformers.tasks.contract.kind import keyword_names

    return "top" in keyword_names(task.predict_stream)


def answers_of(
    task: Any, columns: list[Iterator], ask: Any, batch_size: int, likeliest: dict[str, int], out: Path | None
) -> Iterator[dict[str, Any]]:
    """Return the answers for columns of texts: by the labels that `--labels` asks for, or by the task's own."""
    if ask is not None:
        return zero_shot_stream(task, *columns, batch_size=batch_size, **ask)
    verbose = 0 if out is None else "auto"
    answers = task.predict_stream(*columns, batch_size=batch_size, verbose=verbose, **likeliest)
    is_table = out is not None and out.suffix.lower() != ".jsonl"
    return in_one_cell(answers, len(task.labels)) if is_table and takes_top(task) else answers


def in_one_cell(answers: Iterator[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    """Yield answers for a table: probabilities of the likeliest of `count` labels, which differ by row, as JSON."""
    for answer in answers:
        found = answer.get("probabilities", {})
        if 0 < len(found) < count:
            answer = {**answer, "probabilities": json_line(found, DIGITS)}
        yield answer


def zero_shot_stream(task: Any, texts: Iterator[str], **options: Any) -> Iterator[dict[str, Any]]:
    """Yield what `task.zero_shot` returns for each text, some at a time."""
    while chunk := [*islice(texts, CHUNK)]:
        yield from task.zero_shot(chunk, verbose=0, **options)


def asked_ranges(precision: str, ranges: Path | None, text_pair: Any) -> Any:
    """Return the ranges of vectors of 8 bits; None for others.

    Raises:
        ValueError: The precision is unknown, ranges are missing or too many, or pairs have no vectors.
    """
    from keras_transformers.tasks.vectors.quantized import check_precision

    check_precision(precision, ranges)
    if precision.endswith("int8") and ranges is None:
        raise ValueError(
            f"--precision {precision} needs --ranges, as vectors are written one by one: a file with "
            "json.dumps(vector_ranges(task.embed(texts)).tolist()), of many texts like those to come."
        )
    if precision != "float32" and text_pair is not None:
        raise ValueError("--precision is for vectors, but pairs have a similarity: leave --text-pair out.")
    return None if ranges is None else read_json(ranges, "the least and the greatest value of each number")


def in_precision(task: Any, answers: Iterator[dict[str, Any]], precision: str, ranges: Any) -> Iterator[dict[str, Any]]:
    """Return the answers, with vectors of few bits where asked; check first that the task gives vectors, as wide."""
    if precision == "float32":
        return answers
    from keras_transformers.tasks.vectors.quantized import check_precision, quantize

    if not hasattr(task, "embed"):
        raise ValueError(f"--precision is for vectors: received a model for {task.name}. Leave it out.")
    if "sparse" in task.parts.attributes:
        raise ValueError("--precision is for dense vectors: received a model with sparse vectors. Leave it out.")
    check_precision(precision, ranges, task.parts.answers.dim)
    return ({**answer, "embedding": quantize(answer["embedding"][None], precision, ranges)[0]} for answer in answers)


def columns_of(rows: Iterator[Row]) -> Iterator[Iterator[Any]]:
    """Yield an iterator of the rows, then one of each column; a row is freed once all iterators have passed it."""
    first = next(rows)
    rows, *copies = tee(chain([first], rows), 1 + len(first))
    yield rows
    for place, copy in enumerate(copies):
        yield map(itemgetter(place), copy)
