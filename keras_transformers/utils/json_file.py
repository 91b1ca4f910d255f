"""Readers of the JSON files in a checkpoint folder, and checks of the types of their values."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.utils.untrusted import read_bytes, shown

NUMBER = (int, float)
Kind = type | tuple[type, ...]
MOST_BYTES = 16 << 20  # of a settings file: an index of 100,000 tensors takes about 10 MB
MOST_DEPTH = 64


def read_object(path: str | Path) -> dict[str, Any]:
    """Return the JSON object that a file holds.

    Raises:
        ValueError: The file is missing or too large, is no JSON object, is nested too deeply, or has a key twice.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "config.json")
    >>> _ = path.write_text('{"model_type": "bert"}')
    >>> read_object(path)
    {'model_type': 'bert'}
    """
    values = read_json(path, "a checkpoint folder")
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, received {type(values).__name__}. Fetch or write it again.")
    return values


def read_json(path: str | Path, expected: str, most: int = MOST_BYTES) -> Any:
    """Return the JSON value that a file holds.

    Args:
        path: Path of the file.
        expected: Description of the expected content, for the error message.
        most: Maximum size in bytes.

    Raises:
        ValueError: As for `read_object`, but for the kind of value.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "modules.json")
    >>> _ = path.write_text("[1, 2]")
    >>> read_json(path, "a list of modules")
    [1, 2]
    """
    content = read_bytes(path, expected, most)  # bytes, so that a byte order mark is passed over
    if not content.strip():
        raise ValueError(f"{path} is no JSON (it is empty). Fetch or write it again.")
    try:
        values = json.loads(content, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON ({error}). Fetch or write it again.") from error
    if _depth(values) > MOST_DEPTH:
        raise ValueError(f"{path} is nested more than {MOST_DEPTH} deep. Fetch or write it again.")
    return values


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):  # parsers differ in which of the two they use
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {shown(twice)} occurs more than once")
    return values


def _depth(values: Any) -> int:
    """Return how deep lists and dicts are nested, up to one more than `MOST_DEPTH`."""
    level, depth = [values], 0
    while depth <= MOST_DEPTH and (level := [value for value in level if isinstance(value, (list, dict))]):
        level = [item for value in level for item in (value.values() if isinstance(value, dict) else value)]
        depth += 1
    return depth


def check_types(values: Mapping[str, Any], kinds: Mapping[str, Kind], source: Any) -> None:
    """Check the types of values against a table. A value that is missing or null passes.

    True, False, NaN and infinity do not count as numbers.

    Args:
        values: Values by key; a key that the table lacks may have any value.
        kinds: A type, or `NUMBER`, for each key.
        source: Origin of the values, for the error message.

    Raises:
        ValueError: A value is of another type.

    Example:

    >>> check_types({"top_k": 50, "do_sample": None, "note": 1}, {"top_k": NUMBER, "do_sample": bool}, "config.json")
    """
    for key, kind in kinds.items():
        value = values.get(key)
        if value is not None and not _is_of(value, kind):
            name = kind.__name__ if isinstance(kind, type) else "number"
            raise ValueError(f"{source}: {key} must be a {name}: received {shown(value)}.")


def _is_of(value: Any, kind: Kind) -> bool:
    if isinstance(value, bool) and kind is not bool:
        return False
    return isinstance(value, kind) and not (isinstance(value, float) and not math.isfinite(value))
