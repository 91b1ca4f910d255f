"""The components of a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokenizers import processors

Text = tuple[str]
Piece = str | Text  # a special token, or a text
WITHOUT_GRAPH = (
    "These calls need the ops: `export`, the layers `Tokenize` and `Detokenize`, data sets of `tf.data`, and on "
    "TensorFlow all that answers texts (`predict`, `embed`, `search`, `generate`, `stream`, `chat`). These work "
    "without, through the `tokenizers` library: `fit`, `evaluate`, `score` and `dataset` of lists, `save`, "
    "`tokenizer.encode`, `task.model` on token ids, and with KERAS_BACKEND=jax every call but `export`."
)
A: Piece = ("A",)  # the texts in a template
B: Piece = ("B",)


def parts(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the members of a component in order: "Sequence"s are flattened, at any depth; [] for None."""
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
    """Return the ids of the special tokens that a post-processor puts before and after a text."""
    before: list[int] = []
    behind: list[int] = []
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


def make_template(
    single: Sequence[Piece], pair: Sequence[tuple[Piece, int]], ids: Mapping[str, int]
) -> processors.TemplateProcessing:
    """Build the post-processor that puts special tokens around texts. Their names may hold any characters.

    Args:
        single: The pieces of a text: special tokens, and `A` for the text.
        pair: The pieces of a pair with their segments; `A` and `B` for the texts.
        ids: Ids of the special tokens.
    """

    def piece(part: Piece, segment: int) -> dict[str, Any]:
        kind, name = ("Sequence", part[0]) if isinstance(part, tuple) else ("SpecialToken", part)
        return {kind: {"id": name, "type_id": segment}}

    config = {
        "type": "TemplateProcessing",
        "single": [piece(part, 0) for part in single],
        "pair": [piece(*part) for part in pair],
        "special_tokens": {token: {"id": token, "ids": [i], "tokens": [token]} for token, i in ids.items()},
    }
    return component(processors.TemplateProcessing(), config)


def refuse(part: str, name: object, known: Iterable[object]) -> ValueError:
    """Return the error for a component, or an option of one, that cannot be compiled into TensorFlow ops."""
    return ValueError(
        f"The {part} {name!r} of this tokenizer.json cannot be compiled into TensorFlow ops. "
        f"Expected one of {list(known)}. {WITHOUT_GRAPH} Or write the component: CONTRIBUTING.md, text graph."
    )
