"""Runs a reader on many hostile inputs: a few in the quick tests, as many as fit in `ZOO_FUZZ_MINUTES`.

A reader may read the input, or raise a `ValueError` that a line of ours raises, with a message of a readable length.
Any other exception is a finding, and so is a reader that takes more than a few seconds or a few hundred megabytes.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy

ROOT = Path(__file__).resolve().parents[2]
MINUTES = float(os.environ.get("ZOO_FUZZ_MINUTES", 0))
TARGETS = 20  # among which the minutes are shared
MOST_SECONDS, MOST_BYTES, MOST_LETTERS = 20, 400e6, 5000
OPTIONS = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


class Slow(BaseException):
    """An input took too long. No `Exception`, so that no reader takes it for a damaged file."""


def fuzz(read: Callable[[Any], Any], inputs: SearchStrategy, examples: int = 100) -> None:
    """Runs a reader on `examples` inputs, always the same; or for its share of the minutes, on new ones."""
    counts = {"read": 0, "refused": 0}
    if not MINUTES:
        settings(max_examples=examples, derandomize=True, **OPTIONS)(_test(read, inputs, counts))()
        assert all(counts.values()), f"{counts}: the faults are too many, or too few"
        return
    findings: dict[tuple, str] = {}
    begin = time.monotonic()
    while time.monotonic() - begin < MINUTES * 60 / TARGETS:
        start = seed(int.from_bytes(os.urandom(4), "little"))
        start(settings(max_examples=50, **OPTIONS)(_test(read, inputs, counts, findings)))()
    _log(read, counts | {"seconds": round(time.monotonic() - begin), "findings": list(findings.values())})
    assert not findings, "\n\n".join(findings.values())


def _test(read: Callable, inputs: SearchStrategy, counts: dict, findings: dict | None = None) -> Callable:
    @given(inputs)
    def test(value: Any):
        try:
            check(read, value, counts)
        except AssertionError as error:
            if findings is None:
                raise
            findings.setdefault(_place(error.__cause__ or error), f"{value!r:.3000}\n{error}")

    return test


def check(read: Callable[[Any], Any], value: Any, counts: dict[str, int] | None = None) -> None:
    """Asserts that a reader reads an input or refuses it as it should."""
    counts = {"read": 0, "refused": 0} if counts is None else counts
    before = _peak()
    try:
        with _time_limit():
            read(value)
        counts["read"] += 1
    except ValueError as error:
        counts["refused"] += 1
        _check_clear(error)
    except AssertionError:
        raise
    except (Exception, Slow) as error:
        raise AssertionError(_told(error)) from error
    except BaseException as error:  # a panic of `tokenizers`
        if type(error).__name__ != "PanicException":
            raise
        raise AssertionError(_told(error)) from error
    grown = _peak() - before
    assert grown < MOST_BYTES, f"took {grown / 1e6:.0f} MB"


def _check_clear(error: ValueError) -> None:
    """It was raised by a line of ours, and is of our own words."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    is_ours = last.filename.startswith((str(ROOT / "keras_transformers"), str(ROOT / "zoo")))
    said = "".join(linecache.getline(last.filename, number) for number in range(last.lineno, last.end_lineno + 1))
    if type(error) is not ValueError or not is_ours or "raise " not in said:
        raise AssertionError(f"not a clear error:\n{_told(error)}") from error
    assert 10 < len(str(error)) < MOST_LETTERS, f"a message of {len(str(error))} letters: {_told(error)[-800:]}"


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-6, chain=False))[-3000:]


def _place(error: BaseException) -> tuple:
    """What tells one finding from another."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT / "tests") not in frame.filename]
    return (type(error).__name__, *((frame.filename, frame.lineno) for frame in frames[-1:]))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    """Of processor time; and ten times as long by the clock, for what waits."""

    def stop(number: int, frame: Any):
        raise Slow(f"took more than {MOST_SECONDS} s")

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, 1), signal.ITIMER_REAL: (signal.SIGALRM, 10)}
    before = {number: signal.signal(number, stop) for number, _ in timers.values()}
    for timer, (_, times) in timers.items():
        signal.setitimer(timer, MOST_SECONDS * times)
    try:
        yield
    finally:
        for timer, (number, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def _log(read: Callable, result: dict[str, Any]) -> None:
    line = json.dumps({"target": read.__name__} | result)
    print(line)
    if path := os.environ.get("ZOO_FUZZ_LOG"):
        with open(path, "a") as file:
            file.write(line + "\n")
