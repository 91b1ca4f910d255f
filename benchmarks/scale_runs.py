"""Steps of training that `scale.py` measures: in this process, or as one of several workers that take turns.

`scale_runs.py FOLDER TURNS` is a worker: it makes its models, says so, waits for a file `WORKERS-TURN` in FOLDER each
time, and prints what it measured then as a line of JSON.
"""

from __future__ import annotations

import json
import math
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HEADS, STEPS = 4, 3
ACKNOWLEDGED = 120  # place of `tcpi_bytes_acked` in Linux's struct tcp_info
SHAPES = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")  # read no numbers
ODD = 7  # rows of a trace; no size of a weight divides by it


class Cell(NamedTuple):
    """A decoder of GPT-2's shape and its batch."""

    layers: int
    width: int
    vocabulary: int
    length: int
    rows: int


BASE = Cell(2, 256, 4000, 64, 16)
CELLS = (
    BASE,
    *(BASE._replace(length=length, rows=1024 // length) for length in (128, 256, 512)),
    *(BASE._replace(vocabulary=size) for size in (1000, 16_000)),
    *(BASE._replace(layers=layers) for layers in (1, 4)),
    *(BASE._replace(rows=rows) for rows in (4, 32)),
)
HELD_OUT = Cell(3, 384, 8000, 128, 8)  # no part of the fit
OVER_WORKERS = (BASE._replace(layers=1),)


def trainer(cell: Cell, strategy: Any = None) -> tuple[Any, Callable[[], object]]:
    """The model, and a function that trains it for `STEPS` steps: `fit`, AdamW, clipping and dropout, float32."""
    import keras
    import numpy as np
    import tensorflow as tf

    from keras_transformers.families import gpt2
    from keras_transformers.heads import language_model_head
    from keras_transformers.models import decoder
    from keras_transformers.training.losses.target_losses import CrossEntropy
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.workers.distribute import adapt_fit, scope

    config = gpt2(cell.vocabulary, cell.layers, HEADS, cell.width, max_length=cell.length)
    with scope(strategy):
        body = decoder(config)
        logits = language_model_head(config, body.get_layer("token_embedding"), body.output["hidden_states"])
        model = keras.Model(body.input, logits)
        model.compile(AdamW(1e-4), CrossEntropy(), jit_compile=False)
    adapt_fit(model)
    ids = np.random.default_rng(0).integers(0, cell.vocabulary, (cell.rows, cell.length + 1), "int32")
    inputs = {"token_ids": ids[:, :-1], "padding_mask": np.ones_like(ids[:, 1:])}
    options = tf.data.Options()
    options.autotune.enabled = False
    data = tf.data.Dataset.from_tensor_slices((inputs, ids[:, 1:])).batch(cell.rows).repeat(STEPS)
    data = data.with_options(options)
    return model, lambda: model.fit(data, epochs=1, verbose=0, shuffle=False)


def measured(train: Callable[[], object]) -> dict[str, float]:
    """Seconds and bytes of one step."""
    begin = time.perf_counter(), time.process_time(), sent_bytes()
    train()
    end = time.perf_counter(), time.process_time(), sent_bytes()
    names = ("wall", "cpu", "sent")
    return {name: (now - then) / STEPS for name, now, then in zip(names, end, begin, strict=True)}


def sent_bytes() -> int:
    """What the other ends of this process's connections have received of it."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        if (found := _duplicate(int(name))) is None:
            continue
        with socket.socket(fileno=found) as connection:
            total += _acknowledged(connection)
    return total


def _duplicate(descriptor: int) -> int | None:
    """A descriptor of the same socket; None for one of something else."""
    try:
        return os.dup(descriptor) if os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:") else None
    except OSError:  # closed in the meantime
        return None


def _acknowledged(connection: socket.socket) -> int:
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:  # no TCP
        return 0
    return struct.unpack_from("Q", info, ACKNOWLEDGED)[0]


def alone(cells: tuple[Cell, ...], turns: int) -> Iterator[dict[str, Any]]:
    """One process: each cell by turns, and the memory of its state and of what a step takes beside it."""
    import tensorflow as tf

    memory, made = tf.config.experimental, []
    for cell in cells:
        before = memory.get_memory_info("CPU:0")["current"]
        model, train = trainer(cell)
        train()
        state = memory.get_memory_info("CPU:0")["current"]
        memory.reset_memory_stats("CPU:0")
        train()
        peak = memory.get_memory_info("CPU:0")["peak"]
        facts = {"parameters": model.count_params(), "state_bytes": state - before, "step_bytes": peak - state}
        made.append((cell, train, facts, []))
    for _ in range(turns):
        for _, train, _, found in made:
            found.append(measured(train))
    for cell, _, facts, found in made:
        yield {"kind": "step", **cell._asdict(), **facts, **_columns(found)}


def _columns(found: list[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [round(one[name], 4) for one in found] for name in ("wall", "cpu")}


def kept_of_block(width: int, heads: int, length: int, dtype: str, linear_from: int | None) -> float:
    """Bytes a token that the backward pass of a GPT-2 block reads of its forward pass, from the graph."""
    import keras
    import tensorflow as tf

    from keras_transformers.analysis.cost.traced import call_with, shapes_only
    from keras_transformers.layers import DecoderBlock

    options = {"dropout": 0.1, "attention_dropout": 0.1, "norm_order": "pre", "dtype": dtype}
    block = DecoderBlock(heads, 4 * width, activation="gelu", linear_from=linear_from, **options)
    shapes_only(lambda: block(keras.KerasTensor((ODD, length, width))))
    kept: dict[str, int] = {}

    def gradients(x, values):
        with tf.GradientTape() as tape:
            tape.watch([x, *(value for value in values if value.dtype.is_floating)])
            outputs = tf.nest.flatten(call_with(block, values, x, training=True, use_causal_mask=False))[0]
            total = tf.reduce_sum(outputs)
        forward = {operation.name for operation in x.graph.get_operations()}
        found = tape.gradient(total, [x, *(value for value in values if value.dtype.is_floating)])
        later = [one for one in x.graph.get_operations() if one.name not in forward and one.type not in SHAPES]
        read = [_source(tensor) for operation in later for tensor in operation.inputs if tensor.op.name in forward]
        kept.update({tensor.name: _size(tensor) for tensor in read})
        return [one for one in found if one is not None]

    specs = [tf.TensorSpec(variable.shape, variable.dtype) for variable in block.variables]
    x = tf.TensorSpec((ODD, length, width), block.compute_dtype)
    tf.function(gradients, autograph=False).get_concrete_function(x, specs)
    return sum(kept.values()) / (ODD * length)


def _source(tensor: Any) -> Any:
    """The tensor that holds the numbers of a view."""
    from keras_transformers.analysis.cost.operations import VIEWS

    while tensor.op.type in VIEWS and tensor.op.type not in SHAPES and tensor.op.inputs:
        tensor = tensor.op.inputs[0]
    return tensor


def _size(tensor: Any) -> int:
    """Bytes of an activation; 0 for what does not grow with the rows, and for no array of numbers."""
    known = tensor.shape.is_fully_defined() and tensor.dtype.size
    size = math.prod(tensor.shape) if known else 0
    return size * tensor.dtype.size if size % ODD == 0 else 0


def worker(folder: Path, turns: int) -> None:
    from keras_transformers.training.workers.cluster import read_cluster
    from keras_transformers.training.workers.strategy import strategy

    cluster = read_cluster()
    workers = len(cluster.workers) if cluster else 1
    together = strategy("multi_worker") if cluster else None
    made = [trainer(cell, together) for cell in OVER_WORKERS]
    for _, train in made:
        train()
    print(json.dumps([model.count_params() for model, _ in made]), flush=True)
    for turn in range(turns):
        while not (folder / f"{workers}-{turn}").exists():
            time.sleep(0.02)
        print(json.dumps([measured(train) for _, train in made]), flush=True)


if __name__ == "__main__":
    worker(Path(sys.argv[1]), int(sys.argv[2]))
