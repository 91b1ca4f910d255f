"""How long and how fast to fine-tune: settings of `encoder_tasks.py` compared on rows that are not of a test part.

    python benchmarks/encoder_choices.py DATA sst2 minilm_l6_en --epochs 3 5 [--rates 1e-4] [--seeds 0 1 2]

sst2 has a development part; elsewhere a random fifth of the training rows is left out to measure on. The data sets are
those of `encoder_tasks.py`. A model may be a folder. In bfloat16, which takes two thirds of float32's time here.
"""

from __future__ import annotations

import argparse
import random
import statistics
from functools import partial
from pathlib import Path

from encoder_tasks import EXPERIMENTS, Rows, finetuned, labelled

CHOICES = [name for name, experiment in EXPERIMENTS.items() if experiment.fit["epochs"]]


def parts(name: str, data: Path) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows to choose settings on."""
    train, _ = EXPERIMENTS[name].read(data)
    if name == "sst2":
        return train, labelled(data / "sst2" / "dev.tsv", 0, 1)
    size = len(train["texts"])
    order = random.Random(0).sample(range(size), size)
    chosen = order[size // 5 :], order[: size // 5]
    return tuple({key: [column[i] for i in rows] for key, column in train.items()} for rows in chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("set", choices=CHOICES)
    parser.add_argument("model")
    parser.add_argument("--epochs", type=int, nargs="+")
    parser.add_argument("--rates", type=float, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    usual = EXPERIMENTS[arguments.set]
    chosen = usual._replace(read=partial(parts, arguments.set), load=usual.load | {"dtype": "mixed_bfloat16"})
    for epochs in arguments.epochs or [usual.fit["epochs"]]:
        for rate in arguments.rates or [usual.fit["learning_rate"]]:
            one = chosen._replace(fit={"epochs": epochs, "learning_rate": rate})
            runs = [finetuned(one, arguments.model, arguments.data, seed) for seed in arguments.seeds]
            values = [run[usual.metric] for run in runs]
            mean, spread = statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
            print(f"{epochs} epochs at {rate:g}: {usual.metric} {mean:.4f} ± {spread:.4f}", flush=True)


if __name__ == "__main__":
    main()
