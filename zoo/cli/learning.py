"""`Task.fit` on the command line: a line per epoch, the best epoch kept, the model saved when it is interrupted."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import keras
from keras import ops

from zoo.cli.app import AfterSaving
from zoo.cli.finetune_parts import beside
from zoo.terminal.console import step

LARGEST = 1e12  # of a weight: products of a few such weights overflow float32
BETWEEN = 0.2  # seconds between two updates of the line within an epoch


class Epochs(keras.callbacks.Callback):
    """Callback that prints a table with a line per epoch, at most 80 columns wide; on a terminal also the progress.

    Args:
        measured: The headers of the columns, by the names in the logs.
        best: The callback that keeps the best epoch, which runs before this one; None without validation.

    Attributes:
        epoch, batch: The number of the current epoch, from 0, and how many of its batches are done.
        losses: The mean training loss of each epoch, by its number.
    """

    def __init__(self, measured: dict[str, str], best: Any = None):
        super().__init__()
        self.measured, self.best, self.epoch, self.batch = measured, best, 0, 0
        self.live, self.has_header = sys.stdout.isatty(), False
        self.losses: dict[int, float] = {}

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None):
        self.epoch, self.batch, self.start, self.shown = epoch, 0, time.perf_counter(), 0.0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None):
        self.batch, now = batch + 1, time.perf_counter()
        if self.live and now - self.shown > BETWEEN:
            self.shown = now
            print(f"\r  epoch {self._place()}, batch {self.batch}/{self.params['steps']}", end="", flush=True)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None):
        logs = logs or {}
        self.losses[epoch] = float(logs["loss"])
        if self.live:
            print("\r" + " " * 60, end="\r")
        if not self.has_header:
            print("  ".join(["   epoch", *self.measured.values(), "seconds"]))
            self.has_header = True
        cells = [f"{self._place():>8}"]
        cells += [f"{float(logs[name]):{len(header)}.4f}" for name, header in self.measured.items()]
        cells += [f"{time.perf_counter() - self.start:7.1f}"]
        cells += ["best"] if self.best is not None and self.best.best_epoch == epoch else []
        print("  ".join(cells), flush=True)

    def _place(self) -> str:
        return f"{self.epoch + 1}/{self.params['epochs']}"


def learn(
    task: Any, examples: dict[str, list], held_out: dict[str, list] | None, fit: dict[str, Any], out: Path
) -> int:
    """Run `Task.fit` with a measurement on held-out rows after each epoch; on Ctrl-C, save the model so far.

    A second Ctrl-C stops the save, too.

    Returns:
        The number, from 1, of the epoch whose weights the model has.

    Raises:
        ValueError: Training has diverged.
    """
    best = None if held_out is None else task.parts.best_epoch()
    measured = {"loss": f"{'loss':>7}"}
    if best is not None:
        measured |= {name: f"held-out {name.removeprefix('val_')}" for name in (best.monitor, "val_loss")}
    epochs = Epochs(measured, best)
    validation = None if held_out is None else tuple(held_out.get(name) for name in ("texts", "labels", "pairs"))
    callbacks = [epochs] if best is None else [best, epochs]
    try:
        task.fit(**examples, validation_data=validation, verbose=0, callbacks=callbacks, **fit)
    except KeyboardInterrupt:
        if not epochs.epoch and not epochs.batch:
            print("\ninterrupted before the first step: there is nothing to save")
            raise
        total = epochs.params
        batches = f"{epochs.batch} of {total['steps']} batches of epoch {epochs.epoch + 1} of {total['epochs']}"
        print(f"\ninterrupted after {batches}; not evaluated, not exported")
        save(task, beside(out))
        raise
    kept = fit["epochs"] if best is None or best.best_epoch is None else best.best_epoch + 1
    loss = epochs.losses.get(kept - 1, 0.0)  # 0 for an epoch before the run was resumed
    _check_converged(task, kept, loss, fit["learning_rate"])
    return kept


def _check_converged(task: Any, epoch: int, loss: float, rate: float) -> None:
    """Raise a `ValueError` if the loss is not finite, or weights are so large that the next loss would not be."""
    if not math.isfinite(loss) or not all(
        float(ops.max(ops.abs(weight))) < LARGEST for weight in task.model.trainable_variables
    ):
        raise ValueError(
            f"training has diverged, and nothing is saved: the loss of epoch {epoch} is {loss:.4g}, or its weights "
            f"exceed {LARGEST:g}. Give a --learning-rate below {rate:g}."
        )


def save(task: Any, folder: Path, files: dict[str, str] | None = None) -> None:
    """Save a task with further files; if that fails, for example as a file was put in its place, save it elsewhere."""
    try:
        with step(f"save {folder}"):
            task.save(folder, files=files)
    except Exception as error:
        spare = folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")
        print()
        with step(f"save {spare}"):
            task.save(spare, files=files)
        raise AfterSaving(f"The model is saved in {spare}.") from error
