"""An exported classifier: how soon it answers, how fast, and whether it says what the model in process says.

    python benchmarks/serving.py [mini_bert_en | FOLDER] [--labels 8]

The export is loaded in a process that has TensorFlow only; its requests are timed there. Times are wall-clock.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

SENTENCE = "I paid for the parcel twice and would like to have the money back before the end of next week please"
BATCHES = (1, 32)
BLOCKED = ("keras", "keras_transformers", "zoo", "tensorflow_text", "keras_hub", "keras_nlp", "tokenizers")


def texts(count: int, length: int = 16) -> list[str]:
    """`count` different texts of `length` words."""
    words = SENTENCE.split()
    return [" ".join(words[(row + word) % len(words)] for word in range(length)) for row in range(count)]


def milliseconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begin)


def op_types(folder: str) -> list[str]:
    """Types of the operations in a SavedModel, its own functions left out."""
    from tensorflow.core.protobuf import saved_model_pb2

    graph = saved_model_pb2.SavedModel.FromString(Path(folder, "saved_model.pb").read_bytes()).meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return sorted({node.op for node in nodes} - {function.signature.name for function in graph.library.function})


def serve(folder: str, turns: int) -> dict:
    """Load and ask the export, with everything but TensorFlow blocked."""
    sys.modules.update(dict.fromkeys(BLOCKED))
    import tensorflow as tf

    result: dict = {}
    loaded = []
    result["load"] = milliseconds(lambda: loaded.append(tf.saved_model.load(folder).signatures["serving_default"]))
    for size in BATCHES:
        request = tf.constant(texts(size))
        result[f"first {size}"] = milliseconds(lambda request=request: loaded[0](text=request))
        later = [milliseconds(lambda request=request: loaded[0](text=request)) for _ in range(turns)]
        result[f"later {size}"] = statistics.median(later)
    result["probabilities"] = loaded[0](text=tf.constant(texts(BATCHES[-1])))["probabilities"].numpy().tolist()
    result["ops"] = len(op_types(folder))
    return result


def row(name: str, *columns: str) -> None:
    print(f"{name:34}" + "".join(f"{column:>14}" for column in columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="mini_bert_en", help="a name of the zoo, or a folder")
    parser.add_argument("--labels", type=int, default=8, help="classes of a new head")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        print(json.dumps(serve(arguments.serve, arguments.turns)))
        return
    compare(arguments.name, arguments.labels, arguments.turns)


def compare(name: str, labels: int, turns: int) -> None:
    """Print the table."""
    import zoo

    task = zoo.load(name, task="classification", labels=labels, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        export = milliseconds(lambda: task.export(f"{folder}/1"))
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        command = [sys.executable, __file__, "--serve", f"{folder}/1", "--turns", str(turns)]
        served = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    answers = task.predict(texts(BATCHES[-1]))
    pairs = zip(served["probabilities"], (list(answer["probabilities"].values()) for answer in answers), strict=True)
    difference = max(abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True))
    row(f"{name}, {task.model.count_params():,} weights", "exported", "in process")
    row("trace and export, ms", "", f"{export:.0f}")
    row("load, ms", f"{served['load']:.0f}")
    for count in BATCHES:
        in_process = statistics.median(
            milliseconds(lambda count=count: task.predict(texts(count))) for _ in range(turns)
        )
        row(f"first request of {count}, ms", f"{served[f'first {count}']:.1f}")
        row(f"later requests of {count}, ms", f"{served[f'later {count}']:.1f}", f"{in_process:.1f}")
    row("size on disk, MB", f"{size / 1e6:.1f}")
    row("types of operations", str(served["ops"]))
    row("largest probability difference", f"{difference:.1e}")


if __name__ == "__main__":
    main()
