"""A tokenizer.json as data."""

from __future__ import annotations

import json
from typing import Any


def parts(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    """A component one by one: those of a "Sequence" in order, whatever its depth; none of None."""
    if component is None:
        return []
    if component["type"] != "Sequence":
        return [component]
    (members,) = (value for value in component.values() if isinstance(value, list))
    return [part for member in members for part in parts(member)]


def component(empty: Any, config: dict[str, Any]) -> Any:
    """A component of the `tokenizers` library of this configuration, of the kind of `empty`."""
    empty.__setstate__(json.dumps(config).encode())
    return empty
