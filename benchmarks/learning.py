"""Attention, recurrence and convolution learn the same tasks from the same batches, at equal numbers of parameters.

    python benchmarks/learning.py DATA LOG [--experiments copy recall translation shakespeare] [--seeds 0 1 2]
    python benchmarks/learning.py DATA LOG --table
    python benchmarks/learning.py DATA LOG --plot FOLDER

`DATA` is the folder of data sets. Each run is a process of its own and a line of JSON in `LOG`; the same command goes
on where it was stopped. A run measures its model every so many updates, and writes beside each measurement the updates,
the seconds on the clock and the seconds of processor time that training took until then; neither the first update,
which traces the graph, nor measuring counts. Rates warm up and then stay, so that every point of a curve is one that a
shorter run would reach. `benchmarks/learning.jsonl` is the log of what this project states: two cores, shared with
other work, so that seconds on the clock say less there than those of the processor. Needs the extras `eval` and, to
draw, `plot`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import learning_report as report

EXPERIMENTS = ("copy", "recall", "translation", "shakespeare")
WARMUP = 100  # updates


def run(arguments: argparse.Namespace) -> None:
    """Every run that the log lacks, seed by seed."""
    from learning_tasks import EXPERIMENTS as experiments

    done = {(row["experiment"], row["model"], row["seed"]) for row in report.read(arguments.log)}
    for seed in arguments.seeds:
        for name in arguments.experiments:
            for model in arguments.models or experiments[name].models:
                if model in experiments[name].models and (name, model, seed) not in done:
                    command = [sys.executable, __file__, arguments.data, arguments.log, "--one", name, model, str(seed)]
                    subprocess.run(command, check=True)


def one(arguments: argparse.Namespace) -> None:
    """One run; its line goes to the log."""
    name, model, seed = arguments.one
    row = {"experiment": name, "model": model, "seed": int(seed)} | learn(name, model, arguments.data, int(seed))
    line = json.dumps(row)
    print(line, flush=True)
    with open(arguments.log, "a", encoding="utf-8") as log:
        log.write(line + "\n")


def learn(name: str, model: str, data: Path, seed: int) -> dict[str, Any]:
    """What a model's curve shows."""
    import keras
    from learning_tasks import EXPERIMENTS as experiments

    from keras_transformers.training.optimizers.adamw import AdamW

    experiment = experiments[name]
    keras.utils.set_random_seed(seed)
    prepared = experiment.prepare(experiment.models[model], data, seed)
    network = prepared.task.model
    rate = keras.optimizers.schedules.PolynomialDecay(experiment.rate / WARMUP, WARMUP, experiment.rate)
    prepared.task.compile(AdamW(rate, weight_decay=0.01, beta_2=0.98))
    curve, epochs = make_curve(prepared.measure), experiment.updates // experiment.every
    network.fit(
        prepared.dataset, steps_per_epoch=experiment.every, epochs=epochs, shuffle=False, verbose=0, callbacks=[curve]
    )
    facts = {"parameters": network.count_params(), "rate": experiment.rate}
    seconds = {key: [round(value, 2) for value in values] for key, values in curve.seconds.items()}
    measured = {key: [round(value, 4) for value in values] for key, values in curve.measured.items()}
    return {**facts, "updates": curve.updates, **seconds, "measured": measured}


def make_curve(measure: Any) -> Any:
    """A callback that measures after every epoch, and knows the seconds that training took until then."""
    import keras

    class Curve(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.updates, self.measured = [], defaultdict(list)
            self.seconds = {"wall_seconds": [], "cpu_seconds": []}
            self.spent, self.started = (0.0, 0.0), None

        def on_epoch_begin(self, epoch, logs=None):
            if epoch:
                self.started = clocks()

        def on_train_batch_end(self, batch, logs=None):
            if self.started is None:  # the first update of all traces the graph
                self.started = clocks()

        def on_epoch_end(self, epoch, logs=None):
            self.spent = tuple(
                so_far + now - then for so_far, now, then in zip(self.spent, clocks(), self.started, strict=True)
            )
            for values, value in zip(self.seconds.values(), self.spent, strict=True):
                values.append(value)
            self.updates.append(int(self.model.optimizer.iterations))
            for name, value in measure().items():
                self.measured[name].append(value)

    return Curve()


def clocks() -> tuple[float, float]:
    """Seconds on the clock, and of all threads on the processor."""
    return time.perf_counter(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--experiments", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--models", nargs="+", default=[])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        print(report.table(report.read(arguments.log)))
    elif arguments.plot:
        report.plot(report.read(arguments.log), arguments.plot)
    else:
        (one if arguments.one else run)(arguments)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    main()
