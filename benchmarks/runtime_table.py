"""One model in every runtime: how many of 1,000 texts have the same answers, megabytes, and milliseconds.

    python benchmarks/runtime_table.py [--log FILE] [--turns 15]

minilm_mini_en classifies messages, fine-tuned on the bundled sample first, and gives vectors. The texts are messages,
and others made to be hard: accents, emoji, scripts of the world, marks, control characters, very long words. An answer
is the same if the label is that of `task.predict`; a vector, if its cosine with that of `task.embed` is above 0.99.
Runtimes that take ids get them from the `tokenizers` library. Milliseconds are of one thread, by the clock, for 1 and
for 32 messages, medians of interleaved turns: read the ratios. Prints a table in Markdown; `--log` appends the rows as
JSON lines. OpenVINO has a row where it is installed.
"""

from __future__ import annotations

import argparse
import atexit
import csv
import importlib.util
import json
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
MESSAGES = Path(__file__).resolve().parents[1] / "zoo" / "bundled" / "sample_messages"
LENGTH, COUNT, LEAST_COSINE = 128, 1000, 0.99
HARD = [
    "wochenendtagenwecker", "embeddings and hillclimbing", "façade naïve, Ärger", "e\u0301te\u0301",
    "a 😀 day 👩\u200d👩\u200d👧", "", " ", "\t\n", "a" * 2**20, "日本語のテキスト", "안녕하세요 세계", "Привет, мир!",
    "مرحبا بالعالم", "हिन्दी पाठ", "ภาษาไทย", "x\u200by", "\ufeffbom", "\x00\x01", "ﬁne ﬂour", "İstanbul ıssız",
    "STRASSE straße", "https://example.org/?q=a+b#c", "don't can't won't", "3.14159 1,000,000 $5.99 50%",
    "[CLS] [SEP] [MASK] [UNK] [PAD]", "\U0001d400\U0001d401", "a.b.c...",
]  # fmt: skip
RANGES = ((33, 126), (160, 591), (768, 879), (880, 1327), (1424, 1791), (0x900, 0x97F), (0x3040, 0x30FF),
          (0x4E00, 0x4FFF), (0x1F300, 0x1F5FF), (0x2000, 0x206F))  # fmt: skip


class Runtime(NamedTuple):
    """A runtime: what it reads, the bytes of its files, and its answers to texts, labels or vectors."""

    reads: str
    size: int
    answer: Callable[[Sequence[str]], Sequence[Any]]


def rows_of(name: str) -> tuple[list[str], list[str]]:
    with (MESSAGES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        lines = [*csv.reader(file)][1:]
    return [line[0] for line in lines], [line[1] for line in lines]


def hard_texts() -> list[str]:
    chance = random.Random(0)
    texts = rows_of("test")[0][: COUNT // 3] + HARD
    while len(texts) < COUNT:
        low, high = chance.choice(RANGES)
        words = ("".join(chr(chance.randint(low, high)) for _ in range(chance.randint(1, 8))) for _ in range(6))
        texts.append(" ".join([*words, *chance.choice(texts[:100]).split()[:4]]))
    return texts


def bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def saved_model(folder: Path, output: str) -> Runtime:
    import tensorflow as tf

    model = tf.saved_model.load(str(folder))

    def answer(texts: Sequence[str]) -> list[Any]:
        found = model.signatures["serving_default"](text=tf.constant([*texts], tf.string))[output].numpy()
        return [one.decode() for one in found] if output == "label" else [*found]

    return Runtime("text", bytes_of(folder), answer)


def of_ids(folder: Path, path: Path, program: Callable, labels: Sequence[str]) -> Runtime:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding()

    def answer(texts: Sequence[str]) -> list[Any]:
        rows = tokenizer.encode_batch([*texts])
        columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        found = program({name: np.array([getattr(row, key) for row in rows]) for name, key in columns.items()})
        if labels:
            return [labels[number] for number in found["logits"].argmax(-1)]
        return [*found["sentence_embedding"]]

    return Runtime("ids", bytes_of(path), answer)


def onnx(folder: Path, file: str, labels: Sequence[str]) -> Runtime:
    import onnxruntime

    path, options = folder / "onnx" / file, onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    outputs = [one.name for one in session.get_outputs()]

    def program(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = session.run(None, {name: columns[name].astype("int64") for name in names})
        return dict(zip(outputs, found, strict=True))

    return of_ids(folder, path, program, labels)


def openvino(folder: Path, labels: Sequence[str]) -> Runtime:
    import openvino

    path, core = folder / "onnx" / "model.onnx", openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    model = core.compile_model(core.read_model(str(path)), "CPU", settings)
    names = [one.get_any_name() for one in model.inputs]
    outputs = [one.get_any_name() for one in model.outputs]

    def program(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = model({name: columns[name] for name in names})
        return {name: found[number] for number, name in enumerate(outputs)}

    return of_ids(folder, path, program, labels)


def litert(folder: Path, labels: Sequence[str]) -> Runtime:
    from keras_transformers.tasks.exports.litert_graph import Interpreter

    path = folder / "model.tflite"
    return of_ids(folder, path, Interpreter(path.read_bytes()), labels)


def mediapipe(folder: Path, labels: Sequence[str]) -> Runtime:
    path = str(folder / "model.tflite")
    if labels:
        from mediapipe.tasks.python.text.text_classifier import TextClassifier

        program = TextClassifier.create_from_model_path(path)

        def one(text: str) -> Any:
            return program.classify(text).classifications[0].categories[0].category_name

    else:
        from mediapipe.tasks.python.text.text_embedder import TextEmbedder

        program = TextEmbedder.create_from_model_path(path)

        def one(text: str) -> Any:
            return np.array(program.embed(text).embeddings[0].embedding)

    atexit.register(program.close)
    return Runtime("text", bytes_of(Path(path)), lambda texts: [one(text) for text in texts])


def runtimes(task: Any, temporary: Path, labels: Sequence[str]) -> dict[str, Runtime]:
    output = "label" if labels else "embedding"
    exports: dict[str, dict[str, Any]] = {
        "SavedModel": {}, "SavedModel int8": {"compute": "int8"}, "onnx": {"format": "onnx", "quantize": "int8"},
        "LiteRT": {"format": "litert"}, "LiteRT int8": {"format": "litert", "quantize": "int8"},
        "LiteRT float16": {"format": "litert", "quantize": "float16"},
        "MediaPipe": {"format": "litert", "mediapipe": True, "length": LENGTH},
    }  # fmt: skip
    for name, options in exports.items():
        task.export(temporary / name, **options)
    found = {name: saved_model(temporary / name, output) for name in exports if name.startswith("Saved")}
    found["ONNX Runtime"] = onnx(temporary / "onnx", "model.onnx", labels)
    found["ONNX Runtime int8"] = onnx(temporary / "onnx", "model_quantized.onnx", labels)
    if importlib.util.find_spec("openvino"):
        found["OpenVINO"] = openvino(temporary / "onnx", labels)
    found |= {name: litert(temporary / name, labels) for name in exports if name.startswith("LiteRT")}
    return found | {"MediaPipe": mediapipe(temporary / "MediaPipe", labels)}


def same(found: Sequence[Any], expected: Sequence[Any]) -> int:
    if isinstance(expected[0], str):
        return sum(one == other for one, other in zip(found, expected, strict=True))
    return sum(bool(one @ other > LEAST_COSINE) for one, other in zip(found, expected, strict=True))


def in_parts(answer: Callable, texts: Sequence[str]) -> list[Any]:
    return [one for start in range(0, len(texts), 32) for one in answer(texts[start : start + 32])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--turns", type=int, default=15)
    arguments = parser.parse_args()
    import zoo

    warnings.simplefilter("ignore")
    train, hard, messages = rows_of("train"), hard_texts(), rows_of("test")[0]
    classifier = zoo.load("minilm_mini_en", "classification", labels=sorted({*train[1]}), seed=0, max_length=LENGTH)
    classifier.fit(*train, epochs=3, learning_rate=2e-4, verbose=0)
    embedder = zoo.load("minilm_mini_en", "sentence_embedding", max_length=LENGTH)
    with tempfile.TemporaryDirectory() as temporary:
        labelled = runtimes(classifier, Path(temporary, "labels"), classifier.labels)
        embedded = runtimes(embedder, Path(temporary, "vectors"), ())
        times: dict[tuple[str, int], list[float]] = {(name, count): [] for name in labelled for count in (1, 32)}
        for turn in range(arguments.turns + 2):  # the first two warm up
            for name, count in times:
                begin = time.perf_counter()
                labelled[name].answer(messages[:count])
                if turn > 1:
                    times[name, count].append(1000 * (time.perf_counter() - begin))
        expected = [row["label"] for row in classifier.predict(hard)], [*embedder.embed(hard)]
        print(
            "| runtime | reads | MB | labels of 1,000 | vectors of 1,000 | ms, 1 text | ms, 32 texts |\n"
            + "|---" * 7
            + "|"
        )
        for name, runtime in labelled.items():
            equal = same(in_parts(runtime.answer, hard), expected[0])
            vectors = same(in_parts(embedded[name].answer, hard), expected[1])
            one, many = (statistics.median(times[name, count]) for count in (1, 32))
            row = [name, runtime.reads, round(runtime.size / 1e6, 1), equal, vectors, round(one, 1), round(many)]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
            if arguments.log:
                with arguments.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
