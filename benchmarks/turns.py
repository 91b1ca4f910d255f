"""Competitors in turns: their speed, and its ratio to the first one's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

REST = 0.3  # seconds before each turn: the threads of the one before (ONNX Runtime's, torch's) wait in busy loops


def compare(made: dict[str, Callable[[], object]], turns: int, units: float, unit: str) -> None:
    """Run each once, then all in turns; print the first call, the median of units a second, and the ratio."""
    first = {name: _seconds(work) for name, work in made.items()}
    times: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(turns):
        for name, work in made.items():
            times[name].append(_seconds(work))
    rates = {name: units / statistics.median(values) for name, values in times.items()}
    one = next(iter(made))
    for name, rate in rates.items():
        line = f"{name:28}first {first[name]:6.1f} s{rate:10.1f} {unit}/s{rate / rates[one]:7.2f} of {one}"
        print(line, flush=True)


def _seconds(work: Callable[[], object]) -> float:
    time.sleep(REST)
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
