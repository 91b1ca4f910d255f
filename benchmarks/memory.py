"""Memory after each of several calls of the same kind: what a task keeps of what it did before.

    python benchmarks/memory.py [--tasks causal_lm seq2seq_lm] [--calls fit generate] [--times 8]

Each task has a process of its own, with a bundled model. In it each call is made `--times` times: `fit` and `evaluate`
of a few rows, `predict`, `generate` with other settings each time, `export`, and `load`: a task made, used and dropped.
Prints, after each call and a garbage collection, the memory of the process in MB, and what of it is in use: the rest
lies free between pieces in use, and grows a little with each graph, for plain Keras too (less with `MALLOC_ARENA_MAX=1`
in the environment). Then what was alive before the first call and after the last: graphs of TensorFlow, and its
registered gradients. For Linux with glibc.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
TEXTS = ["a fine film", "a dull day", "it was a warm song", "the room is cold"] * 2
OTHERS = ["a good film", "a bad day", "it was a good song", "the room is bad"] * 2
BERT, GPT, TRANSLATOR = "mini_bert_en", "gpt_mini_en", "transformer_mini_en_de"
# The model of each task, options of `zoo.load`, what it learns from, and what it predicts.
TASKS = {
    "causal_lm": (GPT, {}, {"texts": TEXTS}, (TEXTS,)),
    "classification": (BERT, {"labels": 2}, {"texts": TEXTS, "labels": [0, 1] * 4}, (TEXTS,)),
    "masked_lm": (BERT, {}, {"texts": TEXTS}, (["a [MASK] film"] * 8,)),
    "multiple_choice": (
        *(BERT, {}, {"texts": TEXTS, "labels": [0, 1] * 4, "pairs": [OTHERS[:2]] * 8}),
        (TEXTS, [OTHERS[:2]] * 8),
    ),
    "pretraining": (BERT, {}, {"texts": [TEXTS[:4], OTHERS[:4]] * 4}, (["a [MASK] film"] * 8,)),
    "question_answering": (
        *(BERT, {}, {"texts": TEXTS, "labels": [(2, "good"), (2, "bad"), (9, "good"), (12, "bad")] * 2}),
        (TEXTS, OTHERS),
    ),
    "ranking": (BERT, {}, {"texts": TEXTS, "labels": [0, 1] * 4, "pairs": OTHERS}, (TEXTS, OTHERS)),
    "sentence_embedding": (BERT, {}, {"texts": TEXTS, "pairs": OTHERS}, (TEXTS,)),
    "seq2seq_lm": (TRANSLATOR, {}, {"texts": TEXTS, "labels": OTHERS}, (TEXTS,)),
    "token_classification": (
        *(BERT, {"labels": 2}, {"texts": [["a", "film"]] * 8, "labels": [[0, 1]] * 8}),
        (TEXTS,),
    ),
}
TASKS["question_answering"][2]["pairs"] = OTHERS
SETTINGS = [
    {"max_new_tokens": 4}, {"max_new_tokens": 9, "num_beams": 2}, {"stop": ["."], "temperature": 0.7, "seed": 1},
    {"num_beams": 3, "num_sequences": 2}, {"top_k": 5, "temperature": 1.0}, {"num_beams": 2, "length_penalty": 2.0},
    {"token_bias": {5: -1.0}}, {"num_sequences": 2, "temperature": 0.5, "stop": ["a", "the"]},
]  # fmt: skip
CALLS = ("fit", "evaluate", "predict", "generate", "export", "load")


class MallInfo(ctypes.Structure):
    """What `mallinfo2` of glibc returns, in bytes."""

    names = (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )  # fmt: skip
    _fields_ = [(name, ctypes.c_size_t) for name in names]


def memory() -> tuple[float, float]:
    """Return the resident memory of this process, and how much of it is in use, in MB."""
    gc.collect()
    libc = ctypes.CDLL("libc.so.6")
    libc.mallinfo2.restype = MallInfo
    libc.malloc_trim(0)  # gives back what can be
    info = libc.mallinfo2()
    with open("/proc/self/status", encoding="ascii") as status:
        resident = int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024
    return resident, (info.uordblks + info.hblkhd) / 2**20


def alive() -> str:
    from tensorflow.python.framework import func_graph, ops

    graphs = sum(isinstance(thing, func_graph.FuncGraph) for thing in gc.get_objects())
    return f"{graphs} graphs, {len(ops.gradient_registry.list())} gradients"


def calls_of(name: str) -> Iterator[tuple[str, Callable[[int], object]]]:
    """Return the calls of a task by name, each a function of the number of the call."""
    import zoo

    model, options, learnt, asked = TASKS[name]
    task = zoo.load(model, name, **options)
    yield "fit", lambda number: task.fit(**learnt, epochs=1, batch_size=8, verbose=0)
    yield "evaluate", lambda number: task.evaluate(**learnt)
    yield "predict", lambda number: task.predict(*asked)
    if task.kind.writes_text:
        yield "generate", lambda number: task.generate(TEXTS, **SETTINGS[number % len(SETTINGS)])
    yield "export", lambda number: export(task)

    def load(number):
        other = zoo.load(model, name, **options)
        other.fit(**learnt, epochs=1, batch_size=8, verbose=0)
        other.predict(*asked)

    yield "load", load


def export(task) -> None:
    with tempfile.TemporaryDirectory() as folder:
        task.export(f"{folder}/1")


def measure(name: str, chosen: list[str], times: int) -> None:
    warnings.simplefilter("ignore")
    for kind, call in calls_of(name):
        if kind not in chosen:
            continue
        before, sizes = alive(), []
        for number in range(times):
            call(number)
            sizes.append(memory())
        for what, row in zip(("process", "in use"), zip(*sizes, strict=True), strict=True):
            print(f"{name:21}{kind:9}{what:8}{' '.join(f'{size:6.0f}' for size in row)} MB", flush=True)
        print(f"{name:21}{kind:9}{before} -> {alive()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=CALLS)
    parser.add_argument("--times", type=int, default=8)
    options = parser.parse_args()
    if len(options.tasks) == 1:
        measure(options.tasks[0], options.calls, options.times)
        return
    rest = ["--times", str(options.times), "--calls", *options.calls]
    for name in options.tasks:
        subprocess.run([sys.executable, __file__, "--tasks", name, *rest], check=True)


if __name__ == "__main__":
    main()
