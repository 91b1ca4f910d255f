"""The process of the command line: variables that TensorFlow reads, and standard output of several workers."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


def set_environment() -> None:
    """Set the environment variables of TensorFlow that the user has not set: memory of large tensors, and oneDNN."""
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")  # keeps the memory of large tensors for the next step
    if platform.machine() in ("x86_64", "AMD64"):  # TensorFlow itself leaves oneDNN off on those with AVX2 alone
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")


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
