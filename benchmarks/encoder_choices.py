"""How long and how fast to fine-tune: settings of `encoder_tasks.py` compared on rows that are not of a test part.

    python benchmarks/encoder_choices.py DATA sst2 minilm_l6_en --epochs 3 5 [--rates 1e-4] [--seeds 0 1 2]

sst2 has a development part; elsewhere a random fifth of the training rows is left out to measure on. The data sets are
those of classification. A model may be a folder. In bfloat16, which takes two thirds of float32's time here.
"""

from __future__ import annotations

import argparse
import random
import statistics
from pathlib import Path

from encoder_tasks import EXPERIMENTS, SHORT, Rows, labelled

import zoo

CHOICES = [name for name, experiment in EXPERIMENTS.items() if experiment.task == "classification"]


def parts(name: str, data: Path) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows to choose settings on."""
    train, _ = EXPERIMENTS[name].read(data)
    if name == "sst2":
        return train, labelled(data / "sst2" / "dev.tsv", 0, 1)
    size = len(train["texts"])
    order = random.Random(0).sample(range(size), size)
    chosen = order[size // 5 :], order[: size // 5]
    return tuple({key: [column[i] for i in rows] for key, column in train.items()} for rows in chosen)


def accuracy(name: str, model: str, data: Path, epochs: int, rate: float, seed: int) -> float:
    """On the development part, after one `fit`."""
    train, development = parts(name, data)
    labels = sorted(set(train["labels"]))
    task = zoo.load(model, "classification", labels=labels, dtype="mixed_bfloat16", seed=seed)
    task.fit(**train, **(SHORT | {"epochs": epochs, "learning_rate": rate}), seed=seed)
    return task.evaluate(**development)["accuracy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("set", choices=CHOICES)
    parser.add_argument("model")
    parser.add_argument("--epochs", type=int, nargs="+")
    parser.add_argument("--rates", type=float, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    usual = EXPERIMENTS[arguments.set].fit
    for epochs in arguments.epochs or [usual["epochs"]]:
        for rate in arguments.rates or [usual["learning_rate"]]:
            one = (arguments.set, arguments.model, arguments.data, epochs, rate)
            values = [accuracy(*one, seed) for seed in arguments.seeds]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            print(f"{epochs} epochs at {rate:g}: {statistics.mean(values):.4f} ± {spread:.4f}", flush=True)


if __name__ == "__main__":
    main()
