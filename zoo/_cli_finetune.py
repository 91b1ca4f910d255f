"""`finetune`: load, fit, save, evaluate, export, and one request answered by the export."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import zoo
from keras_transformers.checkpoints.folder import check_target
from keras_transformers.data.tables import Table
from zoo import _bare
from zoo._cli import AfterSaving, step, verbosity
from zoo._cli_data import Columns, check_known, label_names, read_labelled
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
    check_folders(out, export)
    examples = read_labelled(train, columns, problem)
    held_out = read_labelled(test, columns, problem) if test else None
    labels = label_names(examples, columns, problem)
    if held_out and problem != "regression":
        check_known(test, held_out, labels)
    with step(f"load {name} for {len(labels)} label{'s' * (len(labels) > 1)}"):
        task = zoo.load(name, "classification", labels=labels, problem=problem, **load)
    table = held_out or examples
    request = [table.texts[0], *(table.pairs or [])[:1]]
    learn_and_serve(task, examples, held_out, fit_options(name, fit), out, export, request)


def check_folders(out: Path, export: Path) -> None:
    """A `ValueError`, before the work, if a folder cannot be written at its end."""
    check_target(out)
    check_target(beside(out))
    check_target(export, "saved_model.pb")
    one, other = out.resolve(), export.resolve()
    if one == other or one in other.parents or other in one.parents:
        raise ValueError(f"{out} and {export} lie in one another: give --out and --export folders side by side.")


def beside(out: Path) -> Path:
    """Where an interrupted `fit` is saved: what is in `out` may be better."""
    return out.with_name(f"{out.name}-interrupted")


def learn_and_serve(
    task: Any, examples: Table, held_out: Table | None, fit: dict[str, Any], out: Path, export: Path, request: list[str]
) -> None:
    """Fit, save, evaluate, export, and let the export answer a request."""
    if held_out:
        task.dataset(**given(held_out), shuffle=False)  # says what is wrong with it: not after the work
    with step(f"fit {len(examples.texts)} texts ({', '.join(f'{key} {value}' for key, value in fit.items())})", "\n"):
        learn(task, examples, fit, out)
    save(task, out)
    try:
        if held_out:
            with step(f"evaluate {len(held_out.texts)} held-out texts"):
                results = task.evaluate(**given(held_out))
            print(*(f"  {key} {value:.4f}" for key, value in results.items()), sep="\n")
        with step(f"export {export}"):
            task.export(export)
        serve(export, request)
    except Exception as error:
        raise AfterSaving(f"The model is saved in {out}.") from error


def given(table: Table) -> dict[str, list]:
    """The columns that a table has, as `Task.fit` names them."""
    return {name: column for name, column in table._asdict().items() if column is not None}


def learn(task: Any, examples: Table, fit: dict[str, Any], out: Path) -> None:
    """`Task.fit`; on Ctrl-C the model so far is saved. A second Ctrl-C ends that too."""
    from keras.callbacks import LambdaCallback

    place = {"epoch": 0, "batch": 0}
    note = LambdaCallback(
        on_epoch_begin=lambda epoch, logs: place.update(epoch=epoch, batch=0),
        on_train_batch_end=lambda batch, logs: place.update(batch=batch + 1),
    )
    try:
        task.fit(**given(examples), verbose=verbosity(), callbacks=[note], **fit)
    except KeyboardInterrupt:
        if not any(place.values()):
            print("\ninterrupted before the first step: there is nothing to save")
            raise
        total = note.params
        batches = f"{place['batch']} of {total['steps']} batches of epoch {place['epoch'] + 1} of {total['epochs']}"
        print(f"\ninterrupted after {batches}; not evaluated, not exported")
        save(task, beside(out))
        raise


def save(task: Any, folder: Path) -> None:
    """`Task.save`; if that fails, as where somebody has put a file there since the start, to a new folder."""
    try:
        with step(f"save {folder}"):
            task.save(folder)
    except Exception as error:
        spare = folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")
        print()
        with step(f"save {spare}"):
            task.save(spare)
        raise AfterSaving(f"The model is saved in {spare}.") from error


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
