"""A layer of ours in the place of Keras' or keras_hub's in a small functional model: time and peak memory as ratios.

    python benchmarks/layers.py [--layers attention encoder decoder] [--lengths 128 1024 8192] [--turns 3]

The model is one layer, between an input (B, any length, 256) and a dense layer of one unit: 4 heads, 1,024 units inside
the feed-forward layer of a block, float32, no dropout; the decoder is causal and has no cross-attention. B is 8 for
T = 128, else 1,024 / T and at least 1. `forward` is `predict_on_batch`, `step` is `train_on_batch` with SGD, both as
`compile` makes them: by XLA.
Each length, layer and side is a process of its own in each turn, in turns: both have the same weights and inputs, and
the first thing compared are their outputs. Each call is made once, then again for a second and at least twice. Peak
memory is that of the process, less what it had before it made a model; for `step` it is that of both calls. Ratios are
ours / theirs. A process that takes longer than `--limit` seconds, or more memory than there is, is said so.
`KERAS_BACKEND=jax` measures the same on JAX.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

WIDTH, HEADS, INNER, SECONDS = 256, 4, 1024, 1.0
LAYERS, SIDES, CALLS = ("attention", "encoder", "decoder"), ("theirs", "ours"), ("forward", "step")
PACKAGES = ("keras", "keras-hub", "tensorflow", "jax", "numpy")
EQUAL = 1e-5
HELPERS = Path(__file__).resolve().parents[1] / "tests" / "helpers"


def theirs(layer: str, x: Any) -> Any:
    import keras
    import keras_hub

    if layer == "attention":
        return keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(x, x)
    kind = {"encoder": keras_hub.layers.TransformerEncoder, "decoder": keras_hub.layers.TransformerDecoder}[layer]
    return kind(INNER, HEADS)(x)


def ours(layer: str, x: Any) -> Any:
    from keras_transformers import Attention, DecoderBlock, EncoderBlock

    if layer == "attention":
        return Attention(HEADS)(x, x)
    kind = {"encoder": EncoderBlock, "decoder": DecoderBlock}[layer]
    return kind(HEADS, INNER, activation="relu", norm_order="post", epsilon=1e-5)(x)


def model_of(layer: str, side: str) -> Any:
    """Return the model; ours has the weights that theirs begins with."""
    import keras

    def made(make):
        x = keras.Input((None, WIDTH))
        return keras.Model(x, keras.layers.Dense(1)(make(layer, x)))

    keras.utils.set_random_seed(0)
    model = made(theirs)
    if side == "ours":
        sys.path.append(str(HELPERS))
        from in_place import carry

        their_model, model = model, made(ours)
        carry(their_model, model)
    model.compile(keras.optimizers.SGD(0.0), "mse")  # the weights stay as they are
    return model


def batch(length: int) -> int:
    return 8 if length == 128 else max(1, 1024 // length)


def one(layer: str, length: int, side: str, file: str) -> None:
    """Print the seconds of each call and the peak of memory, in bytes, as a line of JSON; write the outputs."""
    import keras  # noqa: F401  with those below, it is no part of what is measured
    import keras_hub  # noqa: F401
    import numpy as np

    import keras_transformers  # noqa: F401

    before, found = peak(), {}
    x = np.random.default_rng(0).standard_normal((batch(length), length, WIDTH)).astype("float32")
    y = np.zeros((batch(length), length, 1), "float32")
    model = model_of(layer, side)
    np.save(file, model.predict_on_batch(x))
    for call, work in zip(CALLS, (lambda: model.predict_on_batch(x), lambda: model.train_on_batch(x, y)), strict=True):
        found[call] = [seconds_of(work), peak() - before]
    print(json.dumps(found))


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds_of(work: Callable[[], object]) -> float:
    """Return the median of the calls after the first one."""
    work()
    times: list[float] = []
    while len(times) < 2 or sum(times) < SECONDS:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def measured(case: tuple[str, int, str], file: Path, limit: float) -> dict | str:
    """Return what a process of its own finds, or why it finds nothing."""
    command = [sys.executable, __file__, "--one", *map(str, case), str(file)]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return f"over {limit:g} s"
    if answer.returncode == -9 or any(sign in answer.stderr for sign in ("ResourceExhausted", "RESOURCE_EXHAUSTED")):
        return "out of memory"
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    return json.loads(answer.stdout.splitlines()[-1])


def compare(layer: str, length: int, turns: int, limit: float, folder: Path) -> list[str]:
    """Return a row of the table for each call."""
    import numpy as np

    files, found = {side: folder / f"{side}.npy" for side in SIDES}, {side: [] for side in SIDES}
    for turn, side in itertools.product(range(turns), SIDES):
        if turn == 0 or isinstance(found[side][0], dict):
            found[side].append(measured((layer, length, side), files[side], limit))
    failed = {side: values[0] for side, values in found.items() if isinstance(values[0], str)}
    if not failed:
        difference = float(np.abs(np.load(files["ours"]) - np.load(files["theirs"])).max())
        if difference > EQUAL:
            raise RuntimeError(f"{layer}, T = {length}: the outputs differ by {difference:.1e}.")
    rows = []
    for call in CALLS:
        columns = [[median(found[side], call, which) for side in SIDES] for which in range(2)]
        cells = [cell(*columns[0], 1e3, "ms"), cell(*columns[1], 1e-6, "MB")]
        notes = "; ".join(f"{side} {why}" for side, why in failed.items())
        rows.append(f"| {layer} | {length} | {batch(length)} | {call} | {' | '.join(cells)} | {notes} |")
    return rows


def median(values: list[dict | str], call: str, which: int) -> float | None:
    numbers = [value[call][which] for value in values if isinstance(value, dict)]
    return statistics.median(numbers) if numbers else None


def cell(their: float | None, our: float | None, factor: float, unit: str) -> str:
    shown = [f"{factor * value:.1f}" if value else "-" for value in (their, our)]
    ratio = f"{our / their:.2f}" if their and our else "-"
    return f"{shown[0]} {unit} | {shown[1]} {unit} | **{ratio}**"


def main() -> None:
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 1024, 8192], metavar="T")
    parser.add_argument("--turns", type=int, default=3, help="processes of each side")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a process may take")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        layer, length, side, file = options.one
        one(layer, int(length), side, file)
        return

    backend, threads = os.environ.get("KERAS_BACKEND", "tensorflow"), len(os.sched_getaffinity(0))
    print(f"{backend}, {threads} threads; {', '.join(f'{name} {version(name)}' for name in PACKAGES)}\n")
    print("| layer | T | B | call | theirs | ours | ratio | their memory | ours | ratio | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for length, layer in itertools.product(options.lengths, options.layers):
            print("\n".join(compare(layer, length, options.turns, options.limit, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
