"""Tokens per second of the text graph beside the Rust library, one core each; and with offsets beside without.

    python benchmarks/text.py --data ../shared/data --tokenizer bert_vocab
    python benchmarks/text.py --data ../shared/data --tokenizer gpt2_vocab
    python benchmarks/text.py --data ../shared/data --tokenizer sentencepiece/test_model.model
    python benchmarks/text.py --data ../shared/data --tokenizer unigram

The two take turns; a figure is the median over the turns, in CPU seconds of the process, since other work on the
machine stretches wall-clock time. Latency is given both ways: on a quiet machine they agree.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import string
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.update(TOKENIZERS_PARALLELISM="false", TF_CPP_MIN_LOG_LEVEL="2")

import tensorflow as tf

from keras_transformers.tasks.exports.saved_model import export
from keras_transformers.text.graph.compile import TextGraph, compile_text
from keras_transformers.text.graph.streams.probe import TABLES
from keras_transformers.text.tokenizer import Tokenizer

MAX_LENGTH = 512


def seconds(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    begin = clock()
    for _ in range(repeats):
        work()
    return (clock() - begin) / repeats


def throughput(
    tokenizer: Tokenizer, encode: Callable, with_offsets: Callable, lines: list[str], per_call: int, turns: int
) -> None:
    batches = [lines[i : i + per_call] for i in range(0, min(len(lines), max(1000, per_call)), per_call)][:100]
    tokens = sum(len(row.ids) for batch in batches for row in tokenizer.encode(batch, max_length=MAX_LENGTH))
    tensors = [tf.constant(batch) for batch in batches]
    work = {
        "graph": lambda: [encode(batch) for batch in tensors],
        "with offsets": lambda: [with_offsets(batch) for batch in tensors],
        "library": lambda: [[row.ids for row in tokenizer.encode(b, max_length=MAX_LENGTH)] for b in batches],
    }
    turns = [{name: tokens / seconds(run, 1) for name, run in work.items()} for _ in range(turns)]
    ours, offsets, theirs = (statistics.median(turn[name] for turn in turns) for name in work)
    print(
        f"{per_call:5} lines a call: graph {ours:11,.0f}  with offsets {offsets:11,.0f}  library {theirs:11,.0f} "
        f"tokens/s  ratio {ours / theirs:.2f}, {offsets / ours:.2f}"
    )


def read(data: Path, name: str) -> Tokenizer:
    """A folder's tokenizer, a SentencePiece model's, or a unigram one of 16,000 trained on some novels."""
    if name == "unigram":
        lines = (data / "gutenberg_novels" / "train.txt").read_text(encoding="utf-8").splitlines()[::4]
        return Tokenizer.train(lines, 16_000, model="unigram")
    is_file = (data / name).is_file()
    return Tokenizer.from_sentencepiece(data / name) if is_file else Tokenizer.from_folder(data / name)


def encoder(graph: TextGraph, with_offsets: bool) -> Callable:
    def encode(texts: tf.Tensor) -> dict[str, tf.Tensor]:
        return graph.encode(texts, max_length=MAX_LENGTH, with_offsets=with_offsets)

    return tf.function(encode, input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)


def save(graph: TextGraph, encode: Callable) -> None:
    module = tf.Module()
    module.graph = graph
    with tempfile.TemporaryDirectory() as folder:
        print(f"export {seconds(lambda: export(f'{folder}/1', module, {'encode': encode}), 1):.2f} s", end=", ")
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        print(f"SavedModel {size:,} bytes, shipped tables {TABLES.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("ZOO_DATA", "../shared/data")))
    parser.add_argument(
        "--tokenizer",
        default="bert_vocab",
        help="a folder or a SentencePiece model, in --data or by its path; or unigram, to train one",
    )
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tokenizer = read(arguments.data, arguments.tokenizer)
    lines = (arguments.data / "gutenberg_novels" / "valid.txt").read_text(encoding="utf-8").splitlines()

    begin = time.process_time()
    graph = compile_text(tokenizer.to_json(), pad_id=0)
    compiled = time.process_time()
    encode, with_offsets = encoder(graph, False), encoder(graph, True)
    encode.get_concrete_function()
    traced = time.process_time()
    with_offsets.get_concrete_function()
    print(f"compile {compiled - begin:.2f} s, trace {traced - compiled:.2f} s", end=", ")
    print(f"with offsets {time.process_time() - traced:.2f} s", end=", ")
    save(graph, encode)
    for per_call in (1, 32, 256, 1000):
        throughput(tokenizer, encode, with_offsets, lines, per_call, arguments.turns)
    word = tf.constant(["".join(random.Random(0).choices(string.ascii_letters, k=10_000))])
    encode(word)
    print(f"one word of 10,000 random letters: {seconds(lambda: encode(word), 3):.3f} s CPU")
    sentence = tf.constant([next(line for line in lines if 100 < len(line) < 130)])
    for name, clock in (("wall", time.perf_counter), ("CPU", time.process_time)):
        times = [seconds(lambda: encode(sentence), 50, clock) for _ in range(arguments.turns)]
        print(f"one sentence of {len(sentence.numpy()[0])} bytes: {1000 * statistics.median(times):.2f} ms {name}")


if __name__ == "__main__":
    main()
