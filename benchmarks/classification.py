"""Fine-tuning through the command line beside a bag-of-words logistic regression on the same data.

    python benchmarks/classification.py DATA/sst2 --seeds 0 1 2 --epochs 3 --learning-rate 3e-4
    python benchmarks/classification.py DATA/sst2 --model gpt_mini_en --epochs 3 --learning-rate 3e-4 --lm-weight 0.5

Other options go to `python -m zoo finetune`. The folder holds train.tsv and test.tsv, `sentence<TAB>label` without a
header. Needs the `eval` extra. Nothing is chosen on the test part. Minutes depend on the machine.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keras_transformers.data.sources.text_tables import read_table

ACCURACY = re.compile(r"^\s*(?:logits_)?accuracy ([\d.]+)", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="mini_bert_en")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments, options = parser.parse_known_args()
    print(f"| bag of words, logistic regression | {bag_of_words(arguments.data):.4f} | |", flush=True)
    accuracies = []
    for seed in arguments.seeds:
        accuracy, minutes = finetuned(arguments.data, arguments.model, seed, options)
        accuracies.append(accuracy)
        print(f"| {arguments.model}, seed {seed} | {accuracy:.4f} | {minutes:.1f} min |", flush=True)
    print(f"| {arguments.model}, mean | {statistics.mean(accuracies):.4f} | |")


def bag_of_words(data: Path) -> float:
    """Test accuracy of tf-idf on words and pairs of words with scikit-learn's logistic regression, C = 10."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, test = (read_table(data / f"{part}.tsv", text=0, label=1) for part in ("train", "test"))
    features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    model = make_pipeline(features, LogisticRegression(C=10, max_iter=1000))
    return model.fit(train.texts, train.labels).score(test.texts, test.labels)


def finetuned(data: Path, model: str, seed: int, options: list[str]) -> tuple[float, float]:
    """Test accuracy and minutes of one `python -m zoo finetune`."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "zoo", "finetune", model, "--train", data / "train.tsv", "--test",
                   data / "test.tsv", "--text", "0", "--label", "1", "--seed", str(seed), "--out", f"{folder}/model",
                   "--export", f"{folder}/export/1", *options]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(ACCURACY.search(done.stdout)[1]), (time.perf_counter() - start) / 60


if __name__ == "__main__":
    main()
