"""Exports whose answers XLA computes, in a bare process: seconds to compile each length, and memory over many requests.

    python benchmarks/compiled_requests.py [--name minilm_mini_en] [--requests 20000] [--compute int8]

The export of a classifier is loaded by TensorFlow alone. First the warm-up requests, one for each length that XLA
compiles a program for; then `--requests` of one text each, of 1 to `--words` words, of which one in 50 has two texts.
Resident memory is printed at ten marks: memory that grows with requests would show.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

BARE = """
import random, sys, time
for name in ("keras", "keras_transformers", "tensorflow_text", "tokenizers"):
    sys.modules[name] = None
import tensorflow as tf
folder, requests, words = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 // 2**20

def seconds(texts):
    begin = time.perf_counter()
    serve(text=tf.constant(texts))
    return time.perf_counter() - begin

began = resident()
model = tf.saved_model.load(folder)
serve = model.signatures["serving_default"]
print(f"TensorFlow {tf.__version__}, {began} MB before the export is loaded, {resident()} MB after")
number, compiled = 1, []
while number <= words:
    first, second = seconds(["a " * number]), seconds(["a " * number])
    if first > 10 * second:
        compiled.append((number, first, second))
    number += 1
for number, first, second in compiled:
    print(f"{number:5} words: first {first:6.2f} s, then {1000 * second:7.2f} ms")
print(f"{len(compiled)} programs, {sum(first for _, first, _ in compiled):.1f} s, {resident()} MB")
chance = random.Random(0)
vocabulary = ["good", "film", "a", "the", "walked", "\\u00e9t\\u00e9", "?", "zzzz", "42"]
begin = time.perf_counter()
for request in range(1, requests + 1):
    texts = [" ".join(chance.choices(vocabulary, k=chance.randint(1, words)))] * (2 if request % 50 == 0 else 1)
    serve(text=tf.constant(texts))
    if request % (requests // 10) == 0:
        print(f"{request:8} requests, {resident()} MB, {request / (time.perf_counter() - begin):.0f} a second")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="minilm_mini_en")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=64, help="of the longest text")
    parser.add_argument("--compute", choices=["int8"])
    arguments = parser.parse_args()
    import zoo

    task = zoo.load(arguments.name, "classification", labels=["negative", "positive"], seed=0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "1")
        task.export(folder, compiled=True, compute=arguments.compute)
        command = [sys.executable, "-c", BARE, str(folder), str(arguments.requests), str(arguments.words)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
