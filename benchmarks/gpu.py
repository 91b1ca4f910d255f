"""Our models on JAX beside torch and sentence-transformers on a GPU: a JSON line a case, then a table.

    python benchmarks/gpu.py [--cases BERT GPT-2 ...] [--sides ours torch ...] [--out gpu.jsonl] [--table gpu.jsonl]

Needs JAX for the GPU, keras, optree, namex, tokenizers and safetensors, and for the peers torch, transformers and
sentence-transformers; no TensorFlow. Where there is no network, carry what is missing as wheels: `pip wheel --no-deps
keras optree namex`. It was not run on a GPU yet. `--cases` takes names or parts of names.

Each case and side is a process of its own. Those of a few cases are built and compiled side by side; when all are
ready, they are timed one after the other, alone on the device: three seconds each and at least three calls, of which
the median counts. Weights are random but for `embed`, dtypes are bfloat16 with float32 weights for training, and those
that a case names otherwise. Limits come first: a matrix product, and a copy. The share in the table is that of the
faster limit: of the product for training, counting the matrix products of a step as 3 x those of its forward pass; of
the copy for a language model's new tokens, counting the weights once a token. A process that takes longer than
`--limit` seconds to build, or to be timed, is stopped and said so. `--small` runs every case at a size at which it only
has to work, on a CPU too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gpu_cases import CASES

HERE = Path(__file__).resolve().parent
SIDES = ("ours", "torch", "torch compiled", "sentence-transformers")
ENVIRONMENT = {
    "KERAS_BACKEND": "jax", "PYTHONPATH": str(HERE.parent), "TF_CPP_MIN_LOG_LEVEL": "2",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # else the first process takes most of the device's memory
}  # fmt: skip
TAIL = 400  # characters of a failure's message


class Worker(NamedTuple):
    """A process that builds a case and waits to be timed."""

    case: str
    side: str
    folder: Path
    process: subprocess.Popen

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def wait(self, name: str, seconds: float) -> bool:
        """Return whether the process wrote a file, before it ended or the time was over."""
        end = time.monotonic() + seconds
        while not self.has(name) and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        return self.has(name)

    def failure(self, doing: str, limit: float) -> dict[str, Any]:
        """Return the line of a case that has no figures; stop its process."""
        ended = self.process.poll() is not None
        self.process.kill()
        self.process.wait()
        message = (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-TAIL:] if ended else ""
        why = f"failed to {doing}" if ended else f"over {limit:g} s to {doing}"
        return {"case": self.case, "side": self.side, "error": why, "message": message}


def start(case: str, side: str, folder: Path, options: list[str]) -> Worker:
    folder.mkdir()
    command = [sys.executable, str(HERE / "gpu_cases.py"), case, side, str(folder), *options]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | ENVIRONMENT)
    return Worker(case, side, folder, process)


def measured(pairs: list[tuple[str, str]], together: int, limit: float, options: list[str]) -> Iterator[dict]:
    """Yield a line for each pair of case and side: `together` of them are built at a time."""
    for begin in range(0, len(pairs), together):
        with tempfile.TemporaryDirectory() as temporary:
            group = enumerate(pairs[begin : begin + together])
            workers = [start(*pair, Path(temporary, str(number)), options) for number, pair in group]
            try:
                yield from _timed(workers, limit)
            finally:  # of an interrupted run, too: they would wait for ever
                for worker in workers:
                    worker.process.kill()


def _timed(workers: list[Worker], limit: float) -> Iterator[dict]:
    end = time.monotonic() + limit
    ready = [worker for worker in workers if worker.wait("ready", end - time.monotonic())]
    # The others are stopped first, so that these are timed alone.
    yield from [worker.failure("build", limit) for worker in workers if worker not in ready]
    for worker in ready:
        (worker.folder / "go").touch()
        yield _read(worker) if worker.wait("result", limit) else worker.failure("run", limit)


def _read(worker: Worker) -> dict[str, Any]:
    worker.process.wait()
    return json.loads((worker.folder / "result").read_text())


def table(lines: list[dict[str, Any]]) -> str:
    """Return the lines as a Markdown table: times, ratios, shares of the limits, and memory."""
    found = {(line["case"], line["side"]): line for line in lines}
    most = {name: max((line.get(name) or 0 for line in lines), default=0) for name in ("flops", "moved")}
    devices = sorted({line["device"] for line in lines if "device" in line})
    rows = [
        f"Devices: {', '.join(devices)}. Limits: {most['flops'] / 1e12:.3g} TFLOP/s, {most['moved'] / 1e9:.4g} GB/s.",
        "",
        f"| case | {' | '.join(SIDES)} | best peer / ours | share of the limit | memory, ours / best peer |",
        f"|---{'|---' * (len(SIDES) + 3)}|",
    ]
    for case in dict.fromkeys(line["case"] for line in lines):
        of_case = {side: found.get((case, side), {}) for side in SIDES}
        times = {side: line["s"] for side, line in of_case.items() if "s" in line}
        peer = min((side for side in times if side != "ours"), key=times.__getitem__, default=None)
        both = peer is not None and "ours" in times
        cells = [_cell(line) for line in of_case.values()]
        cells.append(f"**{times[peer] / times['ours']:.2f}**" if both else "")
        cells.append(_share(of_case["ours"], most))
        cells.append(" / ".join(_memory(of_case.get(side, {})) for side in ("ours", peer)))
        rows.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(line: dict[str, Any]) -> str:
    if "s" not in line:
        return line.get("error", "")
    if line["unit"] == "step":
        return f"{1e3 * line['s']:.4g} ms"
    return f"{1 / line['s']:,.0f} {line['unit']}s/s"


def _share(line: dict[str, Any], most: dict[str, float]) -> str:
    shares = [f"{line[name] / most[name]:.0%}" for name in most if line.get(name) and most[name]]
    return shares[0] if shares else ""


def _memory(line: dict[str, Any]) -> str:
    return f"{line['memory'] / 1e9:.1f} GB" if "memory" in line else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[""], help="names, or parts of names")
    parser.add_argument("--sides", nargs="+", default=[*SIDES], choices=SIDES)
    parser.add_argument("--out", type=Path, default=Path("gpu.jsonl"))
    parser.add_argument("--table", type=Path, help="print the table of a file of an earlier run, and measure nothing")
    parser.add_argument("--together", type=int, default=6, help="processes that are built side by side")
    parser.add_argument("--limit", type=float, default=240, help="seconds to build the processes, and to time each")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    if arguments.table is None:
        names = [name for name in CASES if any(part in name for part in arguments.cases)]
        pairs = [(name, side) for name in names for side in CASES[name].sides if side in arguments.sides]
        options = ["--seconds", str(arguments.seconds), *(["--small"] if arguments.small else [])]
        with arguments.out.open("w") as file:
            for line in measured(pairs, arguments.together, arguments.limit, options):
                print(json.dumps(line), file=file, flush=True)
                print(json.dumps(line), flush=True)
    path = arguments.table or arguments.out
    print(table([json.loads(line) for line in path.read_text().splitlines()]))


if __name__ == "__main__":
    main()
