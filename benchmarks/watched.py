"""A process that a benchmark runs: its time on the clock and on the processor, and its memory (Linux: reads /proc)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")


class Seen(NamedTuple):
    """A process at a time: seconds since its start, seconds of all its threads on the processor, and MB of memory.

    `resident` counts pages of mapped files, which the system takes back when it needs them; `own` does not.
    """

    wall: float
    processor: float
    resident: float = 0.0
    own: float = 0.0


def watched(
    command: Sequence[object], look: Callable[[Seen], object], threads: int = 2, every: float = 0.1
) -> tuple[list[str], Seen]:
    """Run `python command` and wait for it.

    Args:
        command: A script, or `-m` and a module, and arguments.
        look: Called every so many seconds with what was seen.
        threads: For the products of TensorFlow and torch.
        every: Seconds.

    Returns:
        The lines that it printed, and its seconds in all.

    Raises:
        RuntimeError: It failed; with its last lines.
    """
    names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "RAYON_NUM_THREADS")
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | dict.fromkeys(names, str(threads)) | {"PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "2"}
    # Threads of OpenMP, which torch has, wait in busy loops: beside other work they take ten times the processor time.
    environment["OMP_WAIT_POLICY"] = "passive"
    before, begin = spent_by_children(), time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        arguments = [sys.executable, *map(str, command)]
        process = subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            while process.poll() is None:
                if (now := seen(process.pid, begin)) is not None:
                    look(now)
                time.sleep(every)
        finally:
            process.kill()
            process.wait()
        total = Seen(time.perf_counter() - begin, spent_by_children() - before)
        output.seek(0)
        lines = output.read().splitlines()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}:\n" + "\n".join(lines[-30:]))
    return lines, total


def seen(process: int, begin: float) -> Seen | None:
    """Return what a process has taken; None if it has just ended."""
    folder = Path("/proc") / str(process)
    try:
        times = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        memory = [int(status[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")]
    except (FileNotFoundError, ProcessLookupError, KeyError):  # a process that ended has no memory
        return None
    return Seen(time.perf_counter() - begin, sum(map(int, times)) / TICKS, *memory)


def spent_by_children() -> float:
    """Return seconds on the processor of all processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
