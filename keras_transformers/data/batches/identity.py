"""The identity of a data set in a few plain values, to check that a resumed run has the same data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from keras_transformers.data.batches.batching import BATCH, Batching
from keras_transformers.data.batches.protocols import Objective, Source

# Number of rows on which the objective is tried.
SAMPLE_ROWS = 64


def identity(source: Source, objective: Objective, batching: Batching) -> dict[str, Any]:
    """Return the settings of a data set by name, a digest of its rows, and a digest of a batch of the objective.

    Equal data sets have equal identities in every process. The digest covers all rows in memory; for a stream, the rows
    of its first buffer.

    Args:
        source, objective, batching: As in `pipeline.batches`.

    Returns:
        A dict of strings, numbers and tuples of these.
    """
    rows = source.sample() if source.num_rows is not None else next(iter(source.windows(batching, 0, 0)))[1]
    first_rows = rows[np.arange(min(rows.num_rows, SAMPLE_ROWS))]
    element = objective(first_rows, batching.widths[-1], batching.rng(0, BATCH, 0))
    attributes = {name: value for name, value in vars(source).items() if not name.startswith("_")}
    digests = {"rows": digest([attributes, rows]), "objective": digest([type(objective).__name__, element])}
    settings = asdict(batching)
    settings.pop("pad_remainder")  # which changes no step
    return digests | settings


def digest(value: Any) -> str:
    """Return a hash of arrays and plain values, in containers and dataclasses. Of other objects only the class is
    hashed.

    Example:

    >>> digest({"rows": np.arange(3)}) == digest({"rows": np.arange(3)}) != digest({"rows": np.arange(4)})
    True
    """
    state = hashlib.blake2b(digest_size=8)
    for part in _parts(value):
        state.update(part)
    return state.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """Yield bytes that differ if values differ; the lengths among them separate successive values."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype}{value.shape}".encode()
        yield value.tobytes()
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _parts({field.name: getattr(value, field.name) for field in fields(value)})
    elif isinstance(value, Mapping):
        yield from _parts(list(value.items()))
    elif isinstance(value, (list, tuple, np.ndarray)):
        yield f"[{len(value)}]".encode()
        for item in value:
            yield from _parts(item)
    else:
        plain = value is None or isinstance(value, (str, bytes, bool, int, float, np.generic))
        text = f"{type(value).__name__} {value if plain else ''}"
        yield f"{len(text)} {text}".encode("utf-8", "surrogatepass")
