"""The components of a tokenizer.json."""

from __future__ import annotations

import json
from typing import Any


def parts(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The members of a component in order: "Sequence"s are flattened, at any depth; [] for None."""
    if component is None:
        return []
    if component["type"] != "Sequence":
        return [component]
    (members,) = (value for value in component.values() if isinstance(value, list))
    return [part for member in members for part in parts(member)]


def component(empty: Any, config: dict[str, Any]) -> Any:
    """Set the configuration of `empty`, a component of the `tokenizers` library, and return it."""
    empty.__setstate__(json.dumps(config).encode())
    return empty
