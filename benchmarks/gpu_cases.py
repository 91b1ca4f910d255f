"""The cases of `gpu.py`: their sizes, and the process that runs one of them with our models or with a peer's.

    python benchmarks/gpu_cases.py CASE SIDE FOLDER [--small] [--seconds 3]

builds a case, runs it once, writes FOLDER/ready, waits for FOLDER/go, and writes its figures to FOLDER/result.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "zoo" / "bundled" / "minilm_mini_en"  # in the layout of sentence-transformers
STEPS = 10  # training steps of a measured call
FIRST = 0x10000  # the character of token 0
TORCH = ("torch", "torch compiled")


class Case(NamedTuple):
    """What is measured."""

    does: str  # the name of a function of gpu_ours.py and gpu_peers.py
    sizes: dict[str, Any]
    small: dict[str, Any]  # the sizes that differ where it only has to work
    sides: tuple[str, ...] = ("ours", *TORCH)


BERT = {"layers": 12, "heads": 12, "width": 768, "vocabulary": 30522, "dropout": 0.1, "attention_dropout": 0.1}
GPT2 = {"layers": 12, "heads": 12, "width": 768, "vocabulary": 50257, "dropout": 0.0, "attention_dropout": 0.0}
MARIAN = {"layers": 6, "heads": 8, "width": 512, "vocabulary": 32000, "new": 64, "rows": 32, "length": 24}
TINY = {"layers": 1, "heads": 2, "width": 16, "rows": 2, "length": 16}
TINY_BERT, TINY_TEXT = TINY | {"vocabulary": 30522}, TINY | {"vocabulary": 300, "new": 4}
CASES = {
    "matrix product, bfloat16": Case("multiply", {"size": 8192}, {"size": 64}, ("ours", "torch")),
    "copy": Case("copy", {"size": 2**30}, {"size": 2**20}, ("ours", "torch")),
    "BERT-base step, 64 x 128": Case("train", BERT | {"rows": 64, "length": 128}, TINY_BERT),
    "BERT-base step, 64 x 128, in fit": Case("fit", BERT | {"rows": 64, "length": 128}, TINY_BERT, ("ours",)),
    "BERT-base step, 64 x 128, no attention dropout": Case(
        "train", BERT | {"rows": 64, "length": 128, "attention_dropout": 0.0}, TINY_BERT
    ),
    "BERT-base step, 32 x 512": Case("train", BERT | {"rows": 32, "length": 512}, TINY_BERT),
    "GPT-2 124M step, 16 x 1024, no dropout": Case(
        "train", GPT2 | {"rows": 16, "length": 1024, "causal": True}, TINY | {"vocabulary": 300}
    ),
    "one block of 768, T = 8192, forward and backward": Case(
        "block", {"heads": 12, "width": 768, "length": 8192, "rows": 1, "layers": 1}, TINY
    ),
    **{
        f"GPT-2 124M greedy, 128 tokens, {rows} rows, {dtype}": Case(
            "generate", GPT2 | {"rows": rows, "length": 32, "new": 128, "beams": 1, "dtype": dtype}, TINY_TEXT
        )
        for dtype in ("float32", "bfloat16")
        for rows in (1, 8, 64)
    },
    **{
        f"translator of base size, 64 tokens, 32 rows, {beams} beams": Case(
            "translate", MARIAN | {"beams": beams}, TINY_TEXT, ("ours", "torch")
        )
        for beams in (1, 4)
    },
    **{
        f"embed, minilm_mini_en, {rows} rows": Case(
            "embed", {"count": 8192, "rows": rows}, {"count": 40}, ("ours", "sentence-transformers")
        )
        for rows in (32, 256)
    },
}  # fmt: skip


class Work(NamedTuple):
    """A call to time."""

    call: Callable[[], Any]  # returns when the device is done
    count: float = 1  # of steps, tokens or sentences that it does
    unit: str = "step"
    flops: float = 0  # of the matrix products of one call; 0 where memory is the limit
    moved: float = 0  # bytes that one call has to read or write


def training_flops(sizes: dict[str, Any]) -> float:
    """Return the operations of the matrix products of a step; attention counts whole, also where it is causal."""
    layers, width, length = sizes["layers"], sizes["width"], sizes["length"]
    head = 2 * width * sizes["vocabulary"] if sizes.get("causal") else 0
    of_token = layers * (24 * width**2 + 4 * length * width) + head
    return 3 * sizes["rows"] * length * of_token


def weight_bytes(sizes: dict[str, Any]) -> float:
    """Return the bytes of the weights of GPT-2, all of which a new token reads."""
    number = 12 * sizes["layers"] * sizes["width"] ** 2 + sizes["vocabulary"] * sizes["width"]
    return number * (4 if sizes["dtype"] == "float32" else 2)


def sentences(count: int) -> list[str]:
    """Return sentences of 3 to 40 words of the README, of a fixed seed."""
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    random = np.random.default_rng(0)
    return [" ".join(random.choice(words, length)) for length in random.integers(3, 41, count)]


def ids_of(sizes: dict[str, Any]) -> np.ndarray:
    """Return random token ids, (rows, length), none of them a special one."""
    return np.random.default_rng(0).integers(5, sizes["vocabulary"] - 5, (sizes["rows"], sizes["length"]))


def texts_of(ids: np.ndarray) -> list[str]:
    return ["".join(chr(FIRST + number) for number in row) for row in ids.tolist()]


def timed(work: Work, seconds: float) -> list[float]:
    """Return the seconds of each call, three at least."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        begin = time.perf_counter()
        work.call()
        times.append(time.perf_counter() - begin)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=[*CASES])
    parser.add_argument("side")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    case, begin = CASES[arguments.case], time.perf_counter()
    sizes = case.sizes | (case.small if arguments.small else {})
    sides = importlib.import_module("gpu_ours" if arguments.side == "ours" else "gpu_peers")
    work = sides.made(arguments.side, case.does, sizes)
    work.call()
    first = time.perf_counter() - begin
    (arguments.folder / "ready").touch()
    while not (arguments.folder / "go").exists():
        time.sleep(0.02)
    times = timed(work, arguments.seconds)
    device, memory = sides.used()
    found = {"case": arguments.case, "side": arguments.side, "device": device, "calls": len(times), "memory": memory}
    found |= {"first_s": round(first, 2), "s": statistics.median(times) / work.count, "unit": work.unit}
    per_second = {name: getattr(work, name) / statistics.median(times) for name in ("flops", "moved")}
    (arguments.folder / "result.part").write_text(json.dumps(found | per_second))
    os.replace(arguments.folder / "result.part", arguments.folder / "result")


if __name__ == "__main__":
    main()
