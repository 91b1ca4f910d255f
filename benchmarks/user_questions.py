"""How many examples a classifier needs, what class weights do, what a model takes: the figures of docs/faq.md.

    python benchmarks/user_questions.py DATA LOG [--questions examples imbalance cost]
    python benchmarks/user_questions.py DATA LOG --table

`DATA` is the folder of data sets. Each run has a process of its own and is a line of JSON in `LOG`; the same command
goes on where it was stopped, and `--table` prints means. `examples` and `imbalance` need the extra `eval`, for the
baseline that counts words. Epochs are those of `python -m zoo finetune`, and nothing is chosen on the test parts.
Minutes are those of the processor, over all threads. `benchmarks/user_questions.jsonl` is the log.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from encoder_tasks import Rows, _bag_of_words, banking77, messages, sst2

SETS = {"messages": messages, "banking77": banking77, "sst2": sst2}
MODEL, RATE = "minilm_mini_en", 3e-4
MOST, FEW = 400, 40  # texts of the frequent label and of the rare one
TEXT = "The parcel that I ordered two weeks ago came without its invoice, and one of the cups was broken. " * 4
Run = dict[str, Any]


def runs() -> list[Run]:
    """Return what is measured: the settings of each run."""
    sizes = {"messages": (5, 10, 20, 40), "banking77": (10,), "sst2": (50, 200)}
    found: list[Run] = [
        {"question": "examples", "data": data, "per_label": size, "model": model, "seed": seed}
        for data, counts in sizes.items()
        for size in counts
        for model in ("words", MODEL)
        for seed in range(2)
    ]
    found += [
        {"question": "imbalance", "weights": weights, "seed": seed}
        for weights in ("none", "balanced", "threshold", "undersampled")
        for seed in range(2)
    ]
    models = ("minilm_mini_en", "mini_bert_en", "minilm_l6_en", "bert_base_en_uncased")
    return found + [
        {"question": "cost", "model": model, "call": call, "tokens": tokens}
        for model in models
        for call in ("predict", "fit")
        for tokens in (32, 128)
    ]


def drawn(rows: Rows, sizes: dict[str, int], seed: int) -> Rows:
    """Return so many texts of each label, drawn at random."""
    pairs = list(zip(rows["texts"], rows["labels"], strict=True))
    random.Random(seed).shuffle(pairs)
    left, kept = dict(sizes), []
    for text, label in pairs:
        if left[label]:
            left[label] -= 1
            kept.append((text, label))
    texts, labels = map(list, zip(*kept, strict=True))
    return {"texts": texts, "labels": labels}


def classifier(train: Rows, seed: int, **options: Any) -> Any:
    import zoo
    from zoo.cli.fit_settings import epochs_for

    task = zoo.load(MODEL, "classification", labels=sorted(set(train["labels"])), seed=seed)
    settings = {"epochs": epochs_for(len(train["texts"])), "learning_rate": RATE, "verbose": 0}
    task.fit(**train, **settings, seed=seed, **options)
    return task


def examples(data: Path, run: Run) -> Run:
    train, test = SETS[run["data"]](data)
    train = drawn(train, dict.fromkeys(train["labels"], run["per_label"]), run["seed"])
    if run["model"] == "words":
        return {"accuracy": _bag_of_words(train, test)}
    return classifier(train, run["seed"]).evaluate(**test)


def imbalance(data: Path, run: Run) -> Run:
    """Return recall and precision of a label that is rare among the texts to learn from, on a test part where it is
    not.
    """
    from keras_transformers.tasks.reports import measure

    train, test = sst2(data)
    common, rare = sorted(set(train["labels"]))
    most = FEW if run["weights"] == "undersampled" else MOST
    train = drawn(train, {common: most, rare: FEW}, run["seed"])
    weights = {common: 1.0, rare: MOST / FEW} if run["weights"] == "balanced" else None
    task = classifier(train, run["seed"], class_weight=weights)
    if run["weights"] == "threshold":
        return at_threshold(task, test, rare, FEW / (MOST + FEW))
    report = measure(task, **test)
    return {"accuracy": report["accuracy"]} | {name: report["classes"][rare][name] for name in ("recall", "precision")}


def at_threshold(task: Any, test: Rows, rare: str, threshold: float) -> Run:
    """Return the scores where a text has the rare label if its probability is above its share of the training texts."""
    found = [row["probabilities"][rare] > threshold for row in task.predict(test["texts"])]
    wanted = [label == rare for label in test["labels"]]
    hits = sum(map(min, found, wanted))
    agree = sum(one == other for one, other in zip(found, wanted, strict=True))
    return {"accuracy": agree / len(wanted), "recall": hits / sum(wanted), "precision": hits / max(sum(found), 1)}


def second_epoch(task: Any, texts: list[str], labels: list[str]) -> float:
    """Return the processor's seconds of the second epoch of `fit`: the first one traces the graph."""
    from keras.callbacks import LambdaCallback

    ends: list[float] = []
    told = LambdaCallback(on_epoch_end=lambda epoch, logs: ends.append(time.process_time()))
    task.fit(texts, labels, epochs=2, verbose=0, callbacks=[told])
    return ends[1] - ends[0]


def cost(data: Path, run: Run) -> Run:
    """Return milliseconds of the processor a text, and the peak of the process's memory in MB; of `fit`,
    batches of 32.
    """
    import zoo
    from keras_transformers import Task

    tokenizer = zoo.load(MODEL).tokenizer
    config = dataclasses.replace(zoo.describe(run["model"]).config, vocabulary_size=tokenizer.vocabulary_size)
    task = Task(
        "classification", config, tokenizer, max_length=run["tokens"], labels=["a", "b"]
    )  # fresh weights will do
    texts, labels = [TEXT * 2] * 128, ["a", "b"] * 64

    if run["call"] == "fit":
        spent = second_epoch(task, texts, labels)
    else:
        task.predict(texts)  # traces the graph
        begun = time.process_time()
        task.predict(texts)
        spent = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"ms_per_text": round(1000 * spent / len(texts), 1), "peak_mb": peak}


MEASURES = {"examples": examples, "imbalance": imbalance, "cost": cost}


def one(data: Path, log: Path, run: Run) -> None:
    """Measure one run, in this process; its line goes to the log."""
    measured = {name: round(value, 4) for name, value in MEASURES[run["question"]](data, run).items()}
    line = json.dumps(run | measured | {"minutes": round(time.process_time() / 60, 2)})
    print(line, flush=True)
    with open(log, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def table(log: Path) -> None:
    """Print the means over seeds, a line for each setting."""
    groups = defaultdict(list)
    known = {"question", "data", "per_label", "model", "weights", "call", "tokens"}
    for row in map(json.loads, log.read_text("utf-8").splitlines()):
        groups[tuple(str(row[name]) for name in row if name in known)].append(row)
    for setting, rows in groups.items():
        means = [
            f"{name} {statistics.mean(row[name] for row in rows):.4g}"
            for name in rows[0]
            if name not in known | {"seed"}
        ]
        print(" ".join(setting), f"({len(rows)}):", ", ".join(means))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--questions", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        return table(arguments.log)
    if arguments.one:
        return one(arguments.data, arguments.log, arguments.one)
    lines = arguments.log.read_text("utf-8").splitlines() if arguments.log.is_file() else []
    done = [json.loads(line) for line in lines]
    for run in runs():
        if run["question"] in arguments.questions and not any(run.items() <= row.items() for row in done):
            command = [sys.executable, __file__, arguments.data, arguments.log, "--one", json.dumps(run)]
            subprocess.run(command, check=True)
    return None


if __name__ == "__main__":
    main()
