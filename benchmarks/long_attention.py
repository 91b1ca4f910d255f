"""One block of BERT-base's width on long texts, forwards and backwards: time and peak memory, ours beside its peers.

    python benchmarks/long_attention.py [--lengths 2048 4096 8192] [--peers ours plain keras-nlp torch] [--turns 3]

Each length and peer is a process of its own: batch 1, float32, no dropout; turns are interleaved. `ours` is
`EncoderBlock` as it comes, `window` the same with keys no more than 256 places away, `plain` keeps all scores. Peak
memory is that of the process, TensorFlow's or torch's own some 500 MB included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

WIDTH, HEADS, INNER = 768, 12, 3072


def ours(length: int, **options) -> Callable[[], object]:
    from keras_transformers import EncoderBlock

    return _gradients(EncoderBlock(HEADS, INNER, **options), length)


def keras_nlp(length: int) -> Callable[[], object]:
    import keras_nlp

    return _gradients(keras_nlp.layers.TransformerEncoder(INNER, HEADS, activation="gelu"), length)


def _gradients(block, length: int) -> Callable[[], object]:
    import tensorflow as tf

    x = tf.random.normal((1, length, WIDTH))
    block(x[:, :8])  # makes the weights

    @tf.function(autograph=False)
    def gradients():
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.square(block(x, training=True)))
        return tape.gradient(loss, [x, *(weight.value for weight in block.trainable_weights)])

    return lambda: gradients()[0].numpy()


def torch(length: int) -> Callable[[], object]:
    import torch

    torch.set_num_threads(2)
    block = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, dropout=0.0, activation="gelu", batch_first=True)
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    return lambda: block(x).square().sum().backward()


PEERS = {
    "ours": ours,
    "window": lambda length: ours(length, window=(256, 256)),
    "plain": lambda length: ours(length, linear_from=None),
    "keras-nlp": keras_nlp,
    "torch": torch,
}


def one(peer: str, length: int, steps: int) -> None:
    """Seconds of the first call and of each step, and the peak of memory in bytes, as a line of JSON."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    step = PEERS[peer](length)
    seconds = []
    for _ in range(steps + 1):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps([*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], int(arguments.one[1]), arguments.steps)
        return

    for length in arguments.lengths:
        rows: dict[str, list[list[float]]] = {peer: [] for peer in arguments.peers}
        for _ in range(arguments.turns):
            for peer, found in rows.items():
                command = [sys.executable, __file__, "--one", peer, str(length), "--steps", str(arguments.steps)]
                answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                found.append(json.loads(answer.splitlines()[-1]))
        for peer, found in rows.items():
            first = statistics.median(row[0] for row in found)
            step = statistics.median(seconds for row in found for seconds in row[1:-1])
            memory = max(row[-1] for row in found)
            print(
                f"T = {length:6}  {peer:10} first {first:6.2f} s, step {step:6.3f} s, peak {memory / 1e6:7.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
