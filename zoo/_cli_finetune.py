"""`finetune`: load, fit, evaluate, save, export, and one request answered by the export."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import zoo
from keras_transformers.checkpoints.folder import check_target
from zoo import _bare
from zoo._cli import step, verbosity
from zoo._cli_data import Columns, label_names, read_labelled
from zoo._entry import BUNDLED, describe, names

MESSAGES = BUNDLED / "sample_messages"


def run(
    name: str,
    train: Path | None,
    test: Path | None,
    columns: Columns,
    problem: str,
    load: dict[str, Any],
    fit: dict[str, Any],
    out: Path,
    export: Path,
) -> None:
    """Everything from a name to an export that answers; `load` and `fit` are for `zoo.load` and `Task.fit`."""
    train, test = files(train, test)
    check_target(out)
    check_target(export, "saved_model.pb")
    examples = read_labelled(train, columns, problem)
    held_out = read_labelled(test, columns, problem) if test else None
    labels = label_names(examples, columns, problem)
    with step(f"load {name} for {len(labels)} label{'s' * (len(labels) > 1)}"):
        task = zoo.load(name, "classification", labels=labels, problem=problem, **load)
    fit = fit_options(name, fit)
    with step(f"fit {len(examples.texts)} texts ({', '.join(f'{key} {value}' for key, value in fit.items())})", "\n"):
        task.fit(examples.texts, examples.labels, pairs=examples.pairs, verbose=verbosity(), **fit)
    if held_out:
        with step(f"evaluate {len(held_out.texts)} held-out texts"):
            results = task.evaluate(held_out.texts, held_out.labels, pairs=held_out.pairs)
        print_results(results)
    table = held_out or examples
    save_and_serve(task, out, export, [table.texts[0], *(table.pairs or [])[:1]])


def print_results(results: dict[str, float]) -> None:
    """A line for each metric."""
    print(*(f"  {key} {value:.4f}" for key, value in results.items()), sep="\n")


def save_and_serve(task: Any, out: Path, export: Path, request: list[str]) -> None:
    """Write the folder and the SavedModel, and let it answer a request."""
    with step(f"save {out}"):
        task.save(out)
    with step(f"export {export}"):
        task.export(export)
    serve(export, request)


def files(train: Path | None, test: Path | None) -> tuple[Path, Path | None]:
    """The files to learn from and to measure on: without any, the bundled messages."""
    if train is None and test is not None:
        raise ValueError(f"received --test {test} without --train: give both, or neither for the bundled messages.")
    return (train, test) if train else (MESSAGES / "train.csv", MESSAGES / "test.csv")


def fit_options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What was given, else what suits the model; the rest is left to `Task.fit`."""
    suited = describe(name).fit if name in names() else {}
    return {**suited, **{key: value for key, value in given.items() if value is not None}}


def serve(export: Path, request: list[str]) -> None:
    """Let the export answer a text, or a pair, in a fresh process where only TensorFlow can be imported."""
    with step("serve one request in a fresh process that imports only tensorflow"):
        command = [sys.executable, _bare.__file__, str(export), *request]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the export did not answer: {done.stderr.strip().rpartition(chr(10))[-1]}")
    print("  request", json.dumps(request, ensure_ascii=False))
    print("  answer ", done.stdout.strip())
