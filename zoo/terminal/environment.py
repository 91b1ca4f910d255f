"""The process of the command line: variables that TensorFlow reads, standard input, and the output of workers."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from keras_transformers.quiet import use_onednn


def set_environment() -> None:
    """Set the environment variables of TensorFlow that the user has not set: memory of large tensors, and oneDNN."""
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")  # keeps the memory of large tensors for the next step
    use_onednn()


@contextmanager
def quiet_unless_chief(strategy: str | None) -> Iterator[None]:
    """Leave standard output to the chief of several workers."""
    from keras_transformers.training.workers.cluster import read_cluster

    cluster = read_cluster() if strategy in ("auto", "multi_worker") else None
    if cluster is None or cluster.index == 0:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


@contextmanager
def short_warnings(spelled: Callable[[str], str]) -> Iterator[None]:
    """Print what the user is warned of in one line, without the place in the code, and other warnings as ever.

    Args:
        spelled: Function from a message to the same one with the options of the command line.
    """
    usual = warnings.formatwarning

    def formatted(message: Any, category: type[Warning], *place: Any, **line: Any) -> str:
        if category is not UserWarning:
            return usual(message, category, *place, **line)
        return f"warning: {' '.join(spelled(str(message)).split())}\n"

    warnings.formatwarning = formatted
    try:
        yield
    finally:
        warnings.formatwarning = usual


def standard_lines(encoding: str, errors: str) -> Iterator[str]:
    """Yield the lines of standard input, without their ends, as they are asked for; none of a terminal.

    Raises:
        ValueError: Some bytes cannot be decoded.
    """
    if sys.stdin is None or sys.stdin.isatty():
        return
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding=encoding, errors=errors)
    number = 0
    try:
        for number, line in enumerate(sys.stdin, 1):
            if "\0" in line:
                raise ValueError(f"standard input, line {number:,}: a zero byte, as in UTF-16. Give encoding=.")
            yield (line.removeprefix("\ufeff") if number == 1 else line).rstrip("\r\n")
    except UnicodeDecodeError as error:
        bad = error.object[error.start : error.start + 1].hex()
        raise ValueError(
            f"standard input, after line {number:,}: 0x{bad} cannot be decoded as {encoding} ({error.reason}). Give "
            "encoding=, or give a file by --file: the error for a file names the encodings that decode it."
        ) from None
