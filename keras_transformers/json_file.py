"""The JSON files of a checkpoint folder: read, and checked for the types of their values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NUMBER = (int, float)
Kind = type | tuple[type, ...]


def read_object(path: str | Path) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        ValueError: The file is missing, or it holds no JSON or another value than an object.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "config.json")
    >>> _ = path.write_text('{"model_type": "bert"}')
    >>> read_object(path)
    {'model_type': 'bert'}
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no {path.name} in {path.parent}: expected a checkpoint folder.")
    try:
        values = json.loads(path.read_bytes())  # bytes, so that a byte order mark is passed over
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON ({error}). Fetch or write it again.") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, received {type(values).__name__}. Fetch or write it again.")
    return values


def check_types(values: Mapping[str, Any], kinds: Mapping[str, Kind], source: Any) -> None:
    """Checks that the values which are there, and not null, have the types of a table.

    Args:
        values: By key; keys that the table lacks may have any value.
        kinds: For each key a type, or `NUMBER`.
        source: Where the values come from, for the error.

    Raises:
        ValueError: A value is of another type.

    Example:

    >>> check_types({"top_k": 50, "do_sample": None, "note": 1}, {"top_k": NUMBER, "do_sample": bool}, "config.json")
    """
    for key, kind in kinds.items():
        value = values.get(key)
        if value is not None and not isinstance(value, kind):
            name = "number" if kind == NUMBER else kind.__name__
            raise ValueError(f"{source}: {key} must be a {name}: received {value!r}.")
