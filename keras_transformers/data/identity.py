"""What a data set is made of, in a few plain values: to tell whether a resumed run has the data that it began with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from keras_transformers.data.batching import BATCH, Batching

# Rows that show what an objective makes of them.
SHOWN = 64


def identity(source, objective, batching: Batching) -> dict[str, Any]:
    """The settings of a data set by name, and digests of its rows and of what the objective makes of the first ones.

    Equal data sets have equal identities in every process. All rows in memory count; of a stream, those of its first
    buffer.

    Args:
        source, objective, batching: Of `pipeline.batches`.

    Returns:
        A dict of strings, numbers and tuples of them.
    """
    rows = source.sample() if source.num_rows is not None else next(iter(source.windows(batching, 0, 0)))[1]
    shown = rows[np.arange(min(rows.num_rows, SHOWN))]
    element = objective(shown, batching.widths[-1], batching.rng(0, BATCH, 0))
    content = {name: value for name, value in vars(source).items() if not name.startswith("_")}
    made = {"rows": digest([content, rows]), "objective": digest([type(objective).__name__, element])}
    return made | asdict(batching)


def digest(value: Any) -> str:
    """A hash of arrays and plain values, in containers and dataclasses. Of anything else, the name of its class.

    Example:

    >>> digest({"rows": np.arange(3)}) == digest({"rows": np.arange(3)}) != digest({"rows": np.arange(4)})
    True
    """
    found = hashlib.blake2b(digest_size=8)
    for part in _parts(value):
        found.update(part)
    return found.hexdigest()


def _parts(value: Any):
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
