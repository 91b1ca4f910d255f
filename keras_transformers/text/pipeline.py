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


def tokens_around(post_processor: dict[str, Any] | None) -> tuple[list[int], list[int]]:
    """Return the ids of the special tokens that a post-processor puts before and behind a text."""
    before, behind = [], []
    for part in parts(post_processor):
        if part["type"] in ("RobertaProcessing", "BertProcessing"):
            return [part["cls"][1]], [part["sep"][1]]
        if part["type"] == "TemplateProcessing":
            side = before
            for piece in part["single"]:
                if "Sequence" in piece:
                    side = behind
                else:
                    side += part["special_tokens"][piece["SpecialToken"]["id"]]["ids"]
    return before, behind
