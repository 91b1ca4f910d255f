"""What a step of training costs against workers, length, vocabulary and layers; on paper, on many GPUs.

    python benchmarks/scale.py measure [--out benchmarks/scale.jsonl] [--turns 4]
    python benchmarks/scale.py report [--log benchmarks/scale.jsonl] [--assume utilisation=0.4 network=100e9]

`measure` trains small decoders by turns, in one process and in 1, 2 and 4 that train together over loopback, each with
one thread for its products. It takes up to ten minutes, and goes on where it was stopped. Read seconds of the
processor: where a machine does other work too, or has fewer cores than workers, those on the clock say little. `report`
fits the paper model's terms to them and prints how far it misses, then what it gives for 8 H100 and for 256. Nothing of
ours was measured on a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "tests" / "helpers")]
LOG = Path(__file__).with_suffix(".jsonl")
WORKERS = (1, 2, 4)
LIMIT = 900  # seconds for all workers


def measure(out: Path, turns: int) -> None:
    """Every kind of cell that the file lacks, a line each, after a line about the machine."""
    os.environ |= {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_NUM_INTRAOP_THREADS": "1"}  # the first counts memory
    import scale_runs

    kinds = {
        "workers": lambda: over_workers(turns),
        "step": lambda: list(scale_runs.alone((*scale_runs.CELLS, scale_runs.HELD_OUT), turns)),
    }
    out.touch()
    done = {json.loads(line)["kind"] for line in out.read_text(encoding="utf-8").splitlines()}
    for kind in [kind for kind in kinds if kind not in done]:
        load = os.getloadavg()[0]
        rows = kinds[kind]()
        facts = {"measured": kind, "turns": turns, "steps_a_turn": scale_runs.STEPS}
        facts["load"] = [round(load, 1), round(os.getloadavg()[0], 1)]
        with out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in [machine() | facts, *rows])


def machine() -> dict[str, Any]:
    import keras
    import tensorflow as tf

    model = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    versions = {"python": platform.python_version(), "tensorflow": tf.__version__, "keras": keras.__version__}
    return {"kind": "machine", "processor": model[0], "cores": os.cpu_count(), "threads": 1, **versions}


def over_workers(turns: int) -> list[dict[str, Any]]:
    """The same batch by 1, 2 and 4 processes, all of them started, one group at work at a time."""
    from clusters import start_workers

    with tempfile.TemporaryDirectory() as folder:
        command = [ROOT / "benchmarks" / "scale_runs.py", folder, turns]
        groups = {workers: start_workers(command, workers) for workers in WORKERS}
        everyone = [process for group in groups.values() for process in group]
        stop = threading.Timer(LIMIT, lambda: [process.kill() for process in everyone])
        stop.start()
        try:
            parameters, *_ = [answer(process) for process in everyone]
            found: dict[int, list] = {workers: [] for workers in WORKERS}
            for turn in range(turns):
                for workers, group in groups.items():
                    (Path(folder) / f"{workers}-{turn}").touch()
                    found[workers].append([answer(process) for process in group])
        finally:
            stop.cancel()
            for process in everyone:
                process.kill()
                process.wait()
    return [row for workers in WORKERS for row in worker_rows(workers, parameters, found[workers])]


def answer(process: subprocess.Popen) -> list:
    """The next line of JSON that a worker prints."""
    seen = []
    for line in process.stdout:
        if line.startswith("["):
            return json.loads(line)
        seen.append(line)
    raise RuntimeError(f"A worker ended: {''.join(seen)[-3000:]}")


def worker_rows(workers: int, parameters: list[int], turns: list[list[list[dict]]]) -> list[dict[str, Any]]:
    """For each cell: seconds on the clock, of all processors, and bytes that the busiest worker sent, turn by turn."""
    from scale_runs import OVER_WORKERS

    rows = []
    for index, (cell, count) in enumerate(zip(OVER_WORKERS, parameters, strict=True)):
        found = [[worker[index] for worker in turn] for turn in turns]
        row = {"kind": "workers", "workers": workers, **cell._asdict(), "parameters": count}
        row["wall"] = [round(max(one["wall"] for one in turn), 4) for turn in found]
        row["cpu"] = [round(sum(one["cpu"] for one in turn), 4) for turn in found]
        row["sent"] = [round(statistics.fmean(one["sent"] for one in turn)) for turn in found]
        rows.append(row)
    return rows


def main() -> None:
    import scale_report

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("measure")
    run.add_argument("--out", type=Path, default=LOG)
    run.add_argument("--turns", type=int, default=4)
    show = commands.add_parser("report")
    show.add_argument("--log", type=Path, default=LOG)
    show.add_argument("--assume", nargs="+", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.out, arguments.turns)
    else:
        lines = arguments.log.read_text(encoding="utf-8").splitlines()
        print(scale_report.report([json.loads(line) for line in lines], scale_report.assume(arguments.assume)))


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    main()
