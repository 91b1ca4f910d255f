"""Not a test: a process that trains small tasks, by itself or as one of several workers, and writes their losses.

`several_workers.py FOLDER STRATEGY CASE...`: the metrics after each step of each case, over all replicas, and the norms
of the weights go to FOLDER/INDEX.json. STRATEGY is `one`, `mirrored` (two logical devices) or `multi_worker`. The
variables `STATE`, a folder to resume from, and `FAULT` are optional.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf

ROOT = Path(__file__).resolve().parents[2]


def start(name: str):
    """The strategy, before TensorFlow does anything else."""
    from keras_transformers.training.workers.strategy import strategy

    if name == "mirrored":
        device = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(device, [tf.config.LogicalDeviceConfiguration()] * 2)
        return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    return None if name == "one" else strategy(name)


def messages(rows: int) -> tuple[list[str], list[str]]:
    with open(ROOT / "zoo/bundled/sample_messages/train.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))[:rows]
    return [row["text"] for row in table], [row["label"] for row in table]


TEXTS, LABELS = messages(37)  # a last batch of 5 or 1 rows, and texts of 5 to 40 words
SIZES = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 64, "dropout": 0.0, "attention_dropout": 0.0}


def make(case: str) -> tuple[Any, tuple, dict[str, Any]]:
    """The task of a case, what it learns, and options of its `fit`."""
    from keras_transformers.families import bert, gpt2, transformer
    from keras_transformers.tasks import Task
    from keras_transformers.text.end_token import with_end_token
    from keras_transformers.text.tokenizer import Tokenizer

    fit = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2, "clip_norm": 0.1, "verbose": 0, "warmup": 0.0}
    if case.startswith("encoder"):
        tokenizer = Tokenizer.train(TEXTS, vocabulary_size=200)
        dtype = "mixed_bfloat16" if case == "encoder bfloat16" else "float32"
        steps = {"accumulation_steps": 2} if case == "encoder accumulation" else {}
        config = bert(200, **(SIZES | {"initializer_range": 0.2, "dropout": 0.1 if case == "encoder dropout" else 0.0}))
        task = Task("classification", config, tokenizer, labels=sorted(set(LABELS)), dtype=dtype)
        if case == "encoder weights":  # passes of 4 batches, over what is not held out
            steps = {
                "sample_weight": [number % 3 for number in range(37)],
                "steps_per_epoch": 6,
                "validation_split": 0.2,
            }
        return task, (TEXTS, LABELS), fit | steps
    plain = Tokenizer.train(TEXTS, vocabulary_size=300, model="byte_pair")
    tokenizer = with_end_token(plain, plain.eos_id)
    ids = {"pad_id": tokenizer.eos_id, "eos_ids": [tokenizer.eos_id]}
    if case == "decoder":
        return Task("causal_lm", gpt2(tokenizer.vocabulary_size, **SIZES, **ids), tokenizer), (TEXTS,), fit
    config = transformer(tokenizer.vocabulary_size, **SIZES, **ids, decoder_start_id=tokenizer.eos_id)
    return Task("seq2seq_lm", config, tokenizer), (TEXTS, LABELS), fit


class Note:
    """Notes the metrics of each step, and kills a worker where `FAULT` says: signal, worker, epoch and batch."""

    def __init__(self, task: Any, index: int):
        self.task, self.index, self.steps, self.epoch = task, index, {}, 0
        self.fault = tuple(map(int, os.environ.get("FAULT", "0,-1,0,0").split(",")))

    def callback(self):
        import keras

        return keras.callbacks.LambdaCallback(on_epoch_begin=self.begin, on_train_batch_end=self.note)

    def begin(self, epoch, logs):
        self.epoch = epoch

    def note(self, batch, logs):
        metrics = {name: float(value) for name, value in self.task.model.get_metrics_result().items() if name != "loss"}
        self.steps[f"{self.epoch},{batch}"] = metrics
        if self.fault[1:] == (self.index, self.epoch, batch):
            os.kill(os.getpid(), self.fault[0])


def train(case: str, strategy: Any, index: int, state: str | None) -> dict[str, Any]:
    import keras
    import numpy as np

    from keras_transformers.training.workers.distribute import scope

    keras.utils.set_random_seed(0)
    with scope(strategy):
        task, rows, options = make(case)
    note = Note(task, index)
    is_measured = case.startswith("encoder") and "validation_split" not in options
    validation = {"validation_data": rows} if is_measured else {}
    history = task.fit(*rows, **options, **validation, callbacks=[note.callback()], resume=state)
    kept = {name: values for name, values in history.history.items() if "loss" not in name}
    norms = [float(np.linalg.norm(weight)) for weight in task.model.get_weights()]
    return {"steps": note.steps, "history": kept, "weights": norms}


def main(folder: Path, name: str, *cases: str) -> None:
    from keras_transformers.training.workers.cluster import read_cluster

    strategy, cluster = start(name), read_cluster()
    index = cluster.index if cluster else 0
    results = {case: train(case, strategy, index, os.environ.get("STATE")) for case in cases}
    (folder / f"{index}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
