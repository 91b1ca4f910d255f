"""Standard output of several workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def quiet_unless_chief(strategy: str | None) -> Iterator[None]:
    """Leaves standard output to the chief of several workers."""
    from keras_transformers.training.workers.cluster import read_cluster

    cluster = read_cluster() if strategy in ("auto", "multi_worker") else None
    if cluster is None or cluster.index == 0:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield
