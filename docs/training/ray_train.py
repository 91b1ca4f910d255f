"""Fine-tunes a classifier under Ray Train: `train` is what each worker runs, `main` is all that knows of Ray.

`python ray_train.py --train train.csv --out runs/mine --workers 2`; all workers see the folder OUT.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any


def train(options: dict[str, Any]) -> None:
    import zoo
    from keras_transformers.training.workers.distribute import sum_over_replicas

    with open(options["train"], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts, labels = ([row[name] for row in rows] for name in ("text", "label"))
    names, dropout = sorted(set(labels)), options["dropout"]
    task = zoo.load(options["model"], labels=names, dropout=dropout, strategy="multi_worker", seed=0)
    fit = {"epochs": options["epochs"], "batch_size": options["batch_size"], "verbose": 2}
    task.fit(texts, labels, **fit, resume=Path(options["out"], "state"))
    task.save(Path(options["out"], "model"))  # the chief does
    sum_over_replicas(task.model.distribute_strategy, 0)  # no worker leaves before it has ended


def main(options: argparse.Namespace) -> None:
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    options.train, options.out = options.train.resolve(), options.out.resolve()  # workers start in a folder of Ray's
    ray.init(include_dashboard=False)  # on this machine, or the cluster that RAY_ADDRESS names
    TensorflowTrainer(
        train,
        train_loop_config=vars(options),
        scaling_config=ScalingConfig(num_workers=options.workers, use_gpu=options.gpu),
        run_config=RunConfig(storage_path=str(options.out / "ray"), failure_config=FailureConfig(max_failures=3)),
    ).fit()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=Path, required=True, help="CSV with the columns text and label")
    parser.add_argument("--out", type=Path, required=True, help="folder of the model, that all workers see")
    parser.add_argument("--model", default="minilm_mini_en")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpu", action="store_true", help="one for each worker")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32, help="over all workers")
    parser.add_argument("--dropout", type=float, help="the model's own if not given")
    main(parser.parse_args())
