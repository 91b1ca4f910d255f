"""Fine-tuning of encoders on seven data sets, beside baselines that count words: accuracy, correlation, F1, minutes.

    python benchmarks/encoder_tasks.py DATA LOG --models words mini_bert_en minilm_mini_en minilm_l6_en [--seeds 0 1 2]
    python benchmarks/encoder_tasks.py DATA LOG --table

`DATA` is the folder of data sets. Each run is a line of JSON in `LOG`; the same command goes on where it was stopped,
and `--table` prints means and standard deviations. A model may be NAME=FOLDER. Needs the `eval` extra. Nothing is
chosen on a test part. Minutes are those of the processor, over all threads: they depend on the machine, but little on
what else runs there. `benchmarks/encoder_tasks.jsonl` is the log of what the zoo states; its oldest runs have no
minutes, nor have two on squad by a CPU without bfloat16 instructions: seed 2 of minilm_mini_en, which took 203, and
seed 1 of mini_bert_en, which took 143.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.data.sources.text_tables import read_table
from keras_transformers.tasks.questions.squad import read_squad
from keras_transformers.tasks.tokens.conll import read_conll
from keras_transformers.tasks.tokens.label_schemes import labels_in

MESSAGES = Path(__file__).resolve().parents[1] / "zoo" / "bundled" / "sample_messages"
Rows = dict[str, Any]  # arguments of `fit` and `evaluate`


class Experiment(NamedTuple):
    """A data set, and how an encoder learns it."""

    task: str
    read: Callable[[Path], tuple[Rows, Rows]]  # the rows to learn from and those to measure on
    load: dict[str, Any]  # options of `zoo.load`
    fit: dict[str, Any]  # options of `Task.fit`
    metric: str  # of `Task.evaluate`


def messages(data: Path) -> tuple[Rows, Rows]:
    return tuple(labelled(MESSAGES / f"{part}.csv", "text", "label") for part in ("train", "test"))


def sst2(data: Path) -> tuple[Rows, Rows]:
    return tuple(labelled(data / "sst2" / f"{part}.tsv", 0, 1) for part in ("train", "test"))


def banking77(data: Path) -> tuple[Rows, Rows]:
    return tuple(labelled(data / "banking77" / f"{part}.csv", "text", "category") for part in ("train", "test"))


def labelled(path: Path, text: str | int, label: str | int) -> Rows:
    table = read_table(path, text, label=label)
    return {"texts": table.texts, "labels": table.labels}


def stsb(data: Path) -> tuple[Rows, Rows]:
    """Pairs with scores from 0 to 1."""
    parts = []
    for part in ("train", "test"):
        with open(data / "stsb" / f"sts-{part}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        texts, pairs = [row[5] for row in rows], [row[6] for row in rows]
        parts.append({"texts": texts, "pairs": pairs, "labels": [float(row[4]) / 5 for row in rows]})
    return tuple(parts)


def ud_ewt(data: Path) -> tuple[Rows, Rows]:
    return tuple(_words(data / "ud_ewt" / f"en_ewt-ud-{part}.conllu") for part in ("train", "test"))


def wnut17(data: Path) -> tuple[Rows, Rows]:
    return tuple(_words(data / "wnut17" / name) for name in ("wnut17train.conll", "emerging.test.annotated"))


def _words(path: Path) -> Rows:
    texts, labels = read_conll(path)
    return {"texts": texts, "labels": labels}


def squad(data: Path) -> tuple[Rows, Rows]:
    """SquadShifts to learn from, which shares no article with the development part of SQuAD v1.1."""
    shifts = [read_squad(path) for path in sorted((data / "squadshifts").glob("*.json"))]
    train = {"texts": [], "labels": [], "pairs": []}
    for part in shifts:
        for name, column in zip(train, (part.questions, part.answers, part.contexts), strict=True):
            train[name] += column
    test = read_squad(data / "squad_v1.1" / "dev-v1.1.json")
    return train, {"texts": test.questions, "labels": test.answers, "pairs": test.contexts}


SHORT = {"batch_size": 32, "verbose": 2}
LONGEST = {"mini_bert_en": 128}  # tokens of models that read fewer than an experiment gives
EXPERIMENTS = {
    "messages": Experiment("classification", messages, {}, {"epochs": 10, "learning_rate": 3e-4}, "accuracy"),
    "sst2": Experiment("classification", sst2, {}, {"epochs": 3, "learning_rate": 1e-4}, "accuracy"),
    "banking77": Experiment("classification", banking77, {}, {"epochs": 5, "learning_rate": 3e-4}, "accuracy"),
    "stsb untuned": Experiment("sentence_embedding", stsb, {"loss": "cosine"}, {"epochs": 0}, "spearman"),
    "stsb": Experiment("sentence_embedding", stsb, {"loss": "cosine"}, {"epochs": 4, "learning_rate": 5e-5}, "pearson"),
    "ud_ewt": Experiment("token_classification", ud_ewt, {}, {"epochs": 3, "learning_rate": 3e-4}, "accuracy"),
    "wnut17": Experiment("token_classification", wnut17, {}, {"epochs": 5, "learning_rate": 2e-4}, "f1"),
    "ud_ewt crf": Experiment(
        "token_classification", ud_ewt, {"crf": True}, {"epochs": 3, "learning_rate": 3e-4}, "accuracy"
    ),
    "wnut17 crf": Experiment("token_classification", wnut17, {"crf": True}, {"epochs": 5, "learning_rate": 2e-4}, "f1"),
    # One pass in bfloat16: two passes of MiniLM in float32 take 90 minutes of two cores.
    "squad": Experiment(
        "question_answering",
        squad,
        {"max_length": 256, "dtype": "mixed_bfloat16"},
        {"epochs": 1, "learning_rate": 2e-4},
        "f1",
    ),
}


def finetuned(experiment: Experiment, model: str, data: Path, seed: int) -> dict[str, float]:
    """What `Task.evaluate` measures after one `fit`."""
    import zoo

    train, test = experiment.read(data)
    options = dict(experiment.load)
    if "max_length" in options:
        options["max_length"] = min(options["max_length"], LONGEST.get(model, options["max_length"]))
    if experiment.task == "classification":
        options["labels"] = sorted(set(train["labels"]))
    if experiment.task == "token_classification":
        options["labels"] = labels_in(train["labels"])
    task = zoo.load(model, experiment.task, seed=seed, **options)
    if experiment.fit["epochs"]:
        task.fit(**train, **(SHORT | experiment.fit), seed=seed)
    if experiment.task == "token_classification":
        test = readable(test, task)
    return task.evaluate(**test)


def readable(rows: Rows, task: Any) -> Rows:
    """Divide texts that are too long for a task, and leave out words that its tokenizer drops, as none are measured."""
    room = task.max_length - 2  # [CLS] and [SEP]
    texts, labels = [], []
    for words, of_words in zip(rows["texts"], rows["labels"], strict=True):
        used = room + 1  # the first word begins a text
        for word, label, encoded in zip(
            words, of_words, task.tokenizer.encode(words, special_tokens=False), strict=True
        ):
            if not encoded.ids:
                continue
            if used + len(encoded.ids) > room:
                texts.append([])
                labels.append([])
                used = 0
            texts[-1].append(word)
            labels[-1].append(label)
            used += len(encoded.ids)
    return {"texts": texts, "labels": labels}


def counted(name: str, data: Path) -> dict[str, float]:
    """A baseline that counts words; {} where there is none."""
    experiment = EXPERIMENTS[name]
    train, test = experiment.read(data)
    if experiment.task == "classification":
        return {"accuracy": _bag_of_words(train, test)}
    if name == "stsb untuned":
        return {"spearman": _shared_words(test)}
    if name == "ud_ewt":
        return {"accuracy": _usual_tags(train, test)}
    return {"f1": _known_entities(train, test)} if name == "wnut17" else {}


def _bag_of_words(train: Rows, test: Rows) -> float:
    """Logistic regression on tf-idf of words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w\w+\b")
    model = make_pipeline(features, LogisticRegression(C=10, max_iter=1000))
    return model.fit(train["texts"], train["labels"]).score(test["texts"], test["labels"])


def _shared_words(test: Rows) -> float:
    """Cosines of tf-idf of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from keras_transformers.training.metrics.embedding_metrics import spearman

    model = TfidfVectorizer(sublinear_tf=True).fit([*test["texts"], *test["pairs"]])
    one, other = model.transform(test["texts"]), model.transform(test["pairs"])
    return spearman(one.multiply(other).sum(axis=1).A1, test["labels"])


def _usual_tags(train: Rows, test: Rows) -> float:
    """Each word's most frequent tag; of a new word the most frequent tag of all."""
    counts, every = defaultdict(Counter), Counter()
    for words, labels in zip(train["texts"], train["labels"], strict=True):
        for word, label in zip(words, labels, strict=True):
            counts[word][label] += 1
            every[label] += 1
    usual, other = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}, every.most_common(1)[0][0]
    right = [
        usual.get(word, other) == label
        for words, labels in zip(test["texts"], test["labels"], strict=True)
        for word, label in zip(words, labels, strict=True)
    ]
    return sum(right) / len(right)


def _known_entities(train: Rows, test: Rows) -> float:
    """Words that are mostly part of an entity in the training part."""
    from seqeval.metrics import f1_score

    counts = defaultdict(Counter)
    for words, labels in zip(train["texts"], train["labels"], strict=True):
        for word, label in zip(words, labels, strict=True):
            counts[word][label] += 1
    usual = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return float(f1_score(test["labels"], [[usual.get(word, "O") for word in words] for words in test["texts"]]))


def run(arguments: argparse.Namespace) -> None:
    """Every run that the log lacks, each in a process of its own."""
    lines = arguments.log.read_text().splitlines() if arguments.log.is_file() else []
    done = {(row["data"], row["model"], row["seed"]) for row in map(json.loads, lines)}
    for name in arguments.sets:
        for model in arguments.models:
            for seed in [0] if model == "words" or name.endswith("untuned") else arguments.seeds:
                if (name, model.split("=")[0], seed) not in done:
                    command = [sys.executable, __file__, arguments.data, arguments.log, "--one", name, model, str(seed)]
                    subprocess.run(command, check=True)


def one(arguments: argparse.Namespace) -> None:
    """One run; its line goes to the log."""
    name, model, seed = arguments.one
    title, _, folder = model.partition("=")
    if title == "words":
        measured = counted(name, arguments.data)
    else:
        measured = finetuned(EXPERIMENTS[name], folder or title, arguments.data, int(seed))
    minutes = round(time.process_time() / 60, 1)  # of this process from its start, imports among them
    row = {"data": name, "model": title, "seed": int(seed), "minutes": minutes, **measured}
    print(json.dumps(row), flush=True)
    with open(arguments.log, "a") as log:
        log.write(json.dumps(row) + "\n")


def table(log: Path) -> None:
    """Means and standard deviations over seeds."""
    rows = defaultdict(list)
    for row in map(json.loads, log.read_text().splitlines()):
        rows[row["data"], row["model"]].append(row)
    for (name, model), runs in rows.items():
        metric = EXPERIMENTS[name].metric
        values = [run[metric] for run in runs if metric in run]
        if values:
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            minutes = [run["minutes"] for run in runs if "minutes" in run]
            cells = [
                name,
                model,
                metric,
                f"{statistics.mean(values):.4f} ± {spread:.4f}",
                len(values),
                f"{statistics.mean(minutes):.1f}" if minutes else "",
            ]
            print(f"| {' | '.join(map(str, cells))} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--models", nargs="+", default=["words", "mini_bert_en", "minilm_mini_en"])
    parser.add_argument("--sets", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        table(arguments.log)
    else:
        (one if arguments.one else run)(arguments)


if __name__ == "__main__":
    main()
