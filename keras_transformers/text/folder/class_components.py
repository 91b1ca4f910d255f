"""The components of a tokenizer.json, compared with those that its class in `transformers` builds itself."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import tokenizers

from keras_transformers.text.pipelines.components import parts

KINDS = ("normalizer", "pre_tokenizer", "post_processor")
Types = tuple[str, ...]
# Types of normalizers and pre-tokenizers of some classes.
BERTS: tuple[Types, Types] = ("BertNormalizer",), ("BertPreTokenizer",)
SENTENCEPIECE: tuple[Types, Types] = ("Precompiled",), ("WhitespaceSplit", "Metaspace")  # the first one if it is there
AROUND = ("TemplateProcessing", "BertProcessing", "RobertaProcessing")
RUNS = (" {2,}", "  ")  # patterns of several spaces


def check_components(library: tokenizers.Tokenizer, name: str, expected: Sequence[Types | None], source: Any) -> None:
    """Warn of components of tokenizer.json that `transformers` replaces by the class's.

    Args:
        library: The pipeline of tokenizer.json.
        name: Name of the class.
        expected: Types of the class's normalizers, pre-tokenizers and post-processors; None where it takes any.
        source: Path of the file that names the class, for the warning.
    """
    steps = [parts(_state(getattr(library, kind))) for kind in KINDS]
    if tuple(expected[:2]) == SENTENCEPIECE:
        steps[:2] = _as_sentencepiece(*steps[:2])
    for kind, found, types in zip(KINDS, map(_types, steps), expected, strict=True):
        is_same = found == types or (types == AROUND and not {*found}.isdisjoint(AROUND))
        if types is None or is_same or (kind == "normalizer" and types == SENTENCEPIECE[0] and not found):
            continue
        theirs = "special tokens around texts" if types == AROUND else ", ".join(types) or "null"
        warnings.warn(
            f"{source} means the class {name} and its {kind}, {theirs}; tokenizer.json has "
            f"{', '.join(found) or 'null'}: tokenizer.json is used here. Write the class "
            "PreTrainedTokenizerFast, if tokenizer.json is right.",
            stacklevel=3,
        )


def _as_sentencepiece(normalizers: list[dict[str, Any]], splitters: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the steps without those on white space alone, where they do what `WhitespaceSplit` does.

    It drops all white space, so that nothing before it matters. Without it, `Metaspace` does the same to a text whose
    spaces are all alike, by `Precompiled`, whose ends are stripped and whose runs are one space.
    """
    kept = [step for step in normalizers if not _is_of_spaces(step)]
    removed = {step["type"] for step in normalizers if _is_of_spaces(step)}
    if _types(kept) + _types(splitters) == ("Precompiled", "Metaspace") and removed == {"Strip", "Replace"}:
        splitters = [{"type": "WhitespaceSplit"}, *splitters]
    return [kept, splitters]


def _is_of_spaces(step: dict[str, Any]) -> bool:
    if step["type"] == "Replace":
        return step["content"] in (" ", "▁") and {*step["pattern"].values()} <= {*RUNS}
    return step["type"] == "Strip"


def _types(steps: list[dict[str, Any]]) -> Types:
    return tuple(step["type"] for step in steps)


def _state(part: Any) -> dict[str, Any] | None:
    return None if part is None else json.loads(part.__getstate__())
